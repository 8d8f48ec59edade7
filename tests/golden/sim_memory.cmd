# SPDX-License-Identifier: Apache-2.0
leadline sim -c v100_sxm_16gb+archive/deepbench --memory --batch 8192 traces/alexnet_train_b8.llt
leadline sim -c hgx_a100 --memory --dp 2 --pp 2 --batch 4096 --micro-batch 1024 --set memory.hbm2e.size=2GiB traces/alexnet_train_b8.llt
