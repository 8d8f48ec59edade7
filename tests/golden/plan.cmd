# SPDX-License-Identifier: Apache-2.0
leadline plan -c a100_hgx --batch 256 --simulate 4 traces/alexnet_train_b8.llt
