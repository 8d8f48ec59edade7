# SPDX-License-Identifier: Apache-2.0
for model in alexnet vgg speech; do leadline record --dry-run --batch 2 -o $model.llt $model >/dev/null; done
leadline similarity -c i7_6700k alexnet.llt vgg.llt speech.llt traces/alexnet_train_b8.llt
leadline similarity -c i7_6700k --json --figure tree.svg traces/alexnet_infer_b1.llt traces/alexnet_train_b8.llt
grep -c '<text' tree.svg
