# SPDX-License-Identifier: Apache-2.0
leadline sim -c custom_example -c i7_6700k --json --explain 0 traces/alexnet_infer_b1.llt
