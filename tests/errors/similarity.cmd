# SPDX-License-Identifier: Apache-2.0
leadline similarity traces/alexnet_infer_b1.llt
leadline similarity traces/alexnet_infer_b1.llt traces/alexnet_train_b8.llt
leadline similarity --set array.rows=2 traces/alexnet_infer_b1.llt traces/alexnet_train_b8.llt
leadline similarity -c custom_exampel traces/alexnet_infer_b1.llt traces/alexnet_train_b8.llt
