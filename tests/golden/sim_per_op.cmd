# SPDX-License-Identifier: Apache-2.0
leadline sim -c v100_sxm2_16gb --per-op traces/alexnet_infer_b1.llt
