# SPDX-License-Identifier: Apache-2.0
leadline sim -c archive/vidur_a100 --dp 16 --batch 128 traces/alexnet_train_b8.llt
leadline sim -c archive/vidur_a100 --dp 2 --pp 4 --micro-batch 2 --schedule gpipe --zero 1 traces/alexnet_train_b8.llt
leadline sim -c archive/vidur_a100 --dp 8 --tp 2 --json traces/alexnet_train_b8.llt | sed '/"config"/q'
leadline sim -c archive/vidur_a100 --dp 1 traces/alexnet_train_b8.llt | sed -n 3p
# Several of a device that is named alone are its system.
leadline sim -c a100_sxm_80gb+pytorch --dp 16 --batch 128 traces/alexnet_train_b8.llt | sed -n 2,3p
