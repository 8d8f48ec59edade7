# SPDX-License-Identifier: Apache-2.0
# Plans of a step whose products read bfloat16, and of one that is bfloat16 as a whole.
leadline plan -c hgx_a100 --batch 256 --simulate 2 --gemm-dtype bf16 traces/alexnet_train_b8.llt
leadline plan -c hgx_a100 --batch 256 --simulate 2 --as bf16 traces/alexnet_train_b8.llt
leadline plan -c hgx_a100 --batch 256 --gemm-dtype i64 traces/alexnet_train_b8.llt || echo "status $?"
