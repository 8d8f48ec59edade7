# SPDX-License-Identifier: Apache-2.0
# A page on a narrow screen: shorter bars, fewer columns, broken lines.
COLUMNS=80 leadline sim -c custom_example traces/alexnet_train_b8.llt
