# SPDX-License-Identifier: Apache-2.0
leadline info --batch 0 traces/alexnet_train_b8.llt
leadline info --batch 16 --batch-was 4 traces/alexnet_train_b8.llt
leadline record --dry-run -p layers=1 -p hidden=64 -p heads=4 -p seq=8 -p vocabulary=32 -o gpt.llt gpt >/dev/null 2>&1
leadline sim -c archive/vidur_a100 --tp 8 gpt.llt
leadline sim -c archive/vidur_a100 --dp 4 --ep 2 gpt.llt
