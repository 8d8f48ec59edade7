# SPDX-License-Identifier: Apache-2.0
# Mixed precision: products of weights read 8 bits, all else has 16; training casts weights, inference holds them.
leadline sim -c h100_sxm+pytorch --as bf16 --gemm-dtype f8 traces/alexnet_train_b8.llt | sed -n '1,6p;10,20p'
leadline sim -c h100_sxm+pytorch --as bf16 --gemm-dtype f8 --explain 35 traces/alexnet_train_b8.llt | sed -n 1,4p
for trace in train_b8 infer_b1; do
    leadline sim -c h100_sxm+pytorch --as bf16 --gemm-dtype f8 --per-op traces/alexnet_$trace.llt |
        sed '1,/^ops on/d' | awk '$1 < 116 && /cast|matmul|reshape/ {print $1, $2, $3, $4}'
done
leadline sim -c gemmini_like --as bf16 --gemm-dtype f8 traces/alexnet_infer_b1.llt 2>&1 | sed 's|.*/hwconfigs/||'
