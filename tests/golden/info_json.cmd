# SPDX-License-Identifier: Apache-2.0
leadline info --json traces/alexnet_train_b8.llt
