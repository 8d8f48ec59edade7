# SPDX-License-Identifier: Apache-2.0
leadline explain
leadline sim -c archive/vidur_a100 --pp 2 --explain 46 traces/alexnet_train_b8.llt
