# SPDX-License-Identifier: Apache-2.0
leadline info --batch 128 traces/alexnet_train_b8.llt
