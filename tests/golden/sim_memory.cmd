# SPDX-License-Identifier: Apache-2.0
leadline sim -c v100_sxm2_16gb --memory --batch 8192 traces/alexnet_train_b8.llt
