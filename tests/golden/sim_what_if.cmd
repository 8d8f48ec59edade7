# SPDX-License-Identifier: Apache-2.0
leadline sim -c custom_example traces/alexnet_infer_b1.llt | sed -n '/what-if 2x/,/^$/p'
leadline sim -c custom_example --what-if traces/alexnet_infer_b1.llt | sed -n '/what-if 2x/,/^$/p'
