# SPDX-License-Identifier: Apache-2.0
leadline sim -c custom_example --set units.array.count=4 --set memory.hbm.bandwidth=1.8TB/s traces/alexnet_infer_b1.llt
