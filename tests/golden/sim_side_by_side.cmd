# SPDX-License-Identifier: Apache-2.0
leadline sim -c i7_6700k -c v100_sxm2_16gb -c tpu_v2_core -c custom_example traces/alexnet_train_b8.llt
