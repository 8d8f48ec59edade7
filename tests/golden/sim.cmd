# SPDX-License-Identifier: Apache-2.0
leadline sim -c custom_example traces/alexnet_train_b8.llt
