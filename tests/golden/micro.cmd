# SPDX-License-Identifier: Apache-2.0
# Single ops, recorded and simulated.
for op in gemm bmm conv2d rnn lstm gru softmax layernorm elementwise embedding attention allreduce; do
    leadline record $op --dry-run -o $op.llt
done
leadline record gemm -p m=35 -p n=700 -p k=2048 -p tb=T -p dtype=f16 --dry-run -o half.llt
leadline sim -c v100_sxm_32gb+pytorch half.llt --json | grep -E '"(machine|time_s|flops|bytes)"' | head -4
leadline dump half.llt
leadline record conv2d --train --dry-run -p stride_h=2 -o grads.llt
leadline dump grads.llt | sed 's/"inputs.*"attrs"/"attrs"/'
# What earlier ops hide of starting this one is nothing, not what rounding leaves.
leadline sim -c a100_pcie_80gb+pytorch half.llt --explain 0 | tail -2
# Progress in a file is a page at most, however many steps.
leadline record gemm --infer --steps 1000 -p m=2 -p n=2 -p k=2 -o many.llt 2>&1 >many.txt | grep -c '^step'
# What a device gathers is all that the others have a part of.
leadline record allreduce --dry-run -p kind=all_gather -p bytes=4096 -p devices=4 -o gather.llt >/dev/null 2>&1
leadline dump gather.llt
