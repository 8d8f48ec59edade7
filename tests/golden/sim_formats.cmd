# SPDX-License-Identifier: Apache-2.0
# Quantized linear layers on a server's stack: casts are its kernels that quantize, GEMMs those of the format; weights of
# 4 bits are expanded by its weight-only kernel. Scales are stored and moved.
leadline record gpt --infer --batch 16 -p pass=decode -p layers=2 -p hidden=4096 -p heads=32 -p dtype=bf16 --dry-run -o d.llt >/dev/null
for format in f8 fp8_block nvfp4; do
    leadline sim -c b200_sxm+trtllm --gemm-dtype $format --json d.llt | grep -E '"(products|time_s|bytes)"' | head -3
done
leadline sim -c b200_sxm+trtllm --gemm-dtype nvfp4 --explain 7 d.llt | grep -E "quantiz|linear"
leadline sim -c b200_sxm+trtllm --gemm-dtype nvfp4 --explain 8 d.llt | grep -E "quantiz|linear"
leadline sim -c a100_sxm_80gb+trtllm --weights-as int4_g128 --explain 7 d.llt | grep -E "quantiz|linear"
leadline sim -c a100_sxm_80gb+trtllm --weights-as nvfp5 d.llt || echo "status $?"
# A mixture's GEMMs are grouped ones of the stack.
leadline record moe --infer --batch 16 -p pass=decode -p layers=1 -p dtype=bf16 --dry-run -o m.llt >/dev/null
leadline sim -c h100_sxm+vllm --json m.llt | grep '"time_s"' | head -1
leadline sim -c h100_sxm+vllm --per-op m.llt | awk '/batch_matmul .*gate/ {print $1}' | while read -r op; do
    leadline sim -c h100_sxm+vllm --explain "$op" m.llt | grep -E "runs on|rows of|GEMMs:"
done
