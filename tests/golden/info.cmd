# SPDX-License-Identifier: Apache-2.0
leadline info traces/alexnet_train_b8.llt
