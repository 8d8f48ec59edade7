# SPDX-License-Identifier: Apache-2.0
leadline sim -c v100_sxm_16gb+archive/deepbench --per-op traces/alexnet_infer_b1.llt
