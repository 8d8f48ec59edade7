# SPDX-License-Identifier: Apache-2.0
leadline alike traces/alexnet_infer_b1.llt
leadline alike traces/alexnet_infer_b1.llt traces/alexnet_train_b8.llt
leadline alike --set array.rows=2 traces/alexnet_infer_b1.llt traces/alexnet_train_b8.llt
leadline alike -c custom_exampel traces/alexnet_infer_b1.llt traces/alexnet_train_b8.llt
