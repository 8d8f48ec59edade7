# SPDX-License-Identifier: Apache-2.0
leadline sim -c custom_example --json --what-if --per-op traces/alexnet_infer_b1.llt
