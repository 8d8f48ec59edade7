# SPDX-License-Identifier: Apache-2.0
leadline sim -c a100_dgx --dp 16 --batch 128 traces/alexnet_train_b8.llt
leadline sim -c a100_dgx --dp 2 --pp 4 --micro-batch 2 --schedule gpipe --zero 1 traces/alexnet_train_b8.llt
leadline sim -c a100_dgx --dp 8 --tp 2 --json traces/alexnet_train_b8.llt | sed '/"config"/q'
leadline sim -c a100_dgx --dp 1 traces/alexnet_train_b8.llt | sed -n 3p
