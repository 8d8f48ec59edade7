# SPDX-License-Identifier: Apache-2.0
# The first three ops: an input, its labels, a convolution.
leadline dump traces/alexnet_train_b8.llt | head -3
