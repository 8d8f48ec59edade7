# SPDX-License-Identifier: Apache-2.0
leadline verify traces/alexnet_train_b8.llt
