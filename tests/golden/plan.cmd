# SPDX-License-Identifier: Apache-2.0
leadline plan -c a100_hgx --batch 256 --simulate 4 traces/alexnet_train_b8.llt
leadline plan -c a100_dgx --set network.cards.devices=8 --devices 61 --batch 256 traces/alexnet_train_b8.llt
leadline plan -c a100_hgx --devices 1 --batch 256 --set memory.hbm2e.size=64MiB traces/alexnet_train_b8.llt
