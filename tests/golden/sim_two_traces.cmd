# SPDX-License-Identifier: Apache-2.0
leadline sim -c v100_sxm_16gb+archive/deepbench -c custom_example traces/alexnet_train_b8.llt traces/alexnet_infer_b1.llt
