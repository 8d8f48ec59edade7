# SPDX-License-Identifier: Apache-2.0
leadline sim -c archive/vidur_a100 --dp 16 --batch 128 traces/alexnet_train_b8.llt
leadline sim -c archive/vidur_a100 --dp 2 --pp 4 --micro-batch 2 --schedule gpipe --zero 1 traces/alexnet_train_b8.llt
leadline sim -c archive/vidur_a100 --dp 8 --tp 2 --json traces/alexnet_train_b8.llt | sed '/"config"/q'
leadline sim -c archive/vidur_a100 --dp 1 traces/alexnet_train_b8.llt | sed -n 3p
# Several of a device that is named alone are its system.
leadline sim -c a100_sxm_80gb+pytorch --dp 16 --batch 128 traces/alexnet_train_b8.llt | sed -n 2,3p
# One device of eight is drawn, and the links of two; the others wait for them.
leadline sim -c archive/vidur_a100 --dp 8 --stragglers 0.1:1.5 --slow-links 0.25:2 traces/alexnet_train_b8.llt | grep -A2 stragglers:
leadline sim -c archive/vidur_a100 --dp 2 --pp 4 --micro-batch 2 --stragglers 0.3:2 --seed 5 --json traces/alexnet_train_b8.llt | grep -A5 '"stragglers": {'
