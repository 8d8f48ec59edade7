# SPDX-License-Identifier: Apache-2.0
# Weights stored in 4 bits and multiplied in bf16: a decoder's next token takes as long as its weights take to be read,
# or to be loaded into the array.
leadline record gpt --infer --batch 1 -p pass=decode -p layers=2 -p hidden=4096 -p heads=32 -p dtype=bf16 --dry-run -o d.llt >/dev/null
for weights in bf16 int8 int4; do
    leadline sim -c tpu_v5e --weights-as $weights --json d.llt | grep -E '"(weights|time_s|bytes)"' | head -3
done
leadline sim -c tpu_v5e --weights-as int4 --explain 7 d.llt | sed -n 1,5p
leadline sim -c h100_sxm+pytorch --gemm-dtype f8 --weights-as f4 d.llt | sed -n 1,5p
