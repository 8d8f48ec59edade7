# SPDX-License-Identifier: Apache-2.0
leadline explain
leadline sim -c a100_dgx --pp 2 --explain 46 traces/alexnet_train_b8.llt
