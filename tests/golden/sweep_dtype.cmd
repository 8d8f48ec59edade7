# SPDX-License-Identifier: Apache-2.0
# A machine of integers: what a sweep finds for it is what --as does.
printf '%s\n' 'base: gemmini_like' "traces: [$PWD/traces/alexnet_infer_b1.llt]" 'dtype: int8' \
    'vary: {units.array.rows: [16, 32]}' 'objectives: [min time_s]' >sweep.yaml
leadline sweep sweep.yaml -o s.db >/dev/null 2>&1
leadline pareto s.db --csv | cut -d, -f1-3
leadline sim -c gemmini_like --as int8 --set units.array.rows=32 --json traces/alexnet_infer_b1.llt | grep time_s | head -1
sed -i s/int8/bf16/ sweep.yaml
leadline sweep sweep.yaml -o s.db 2>&1
sed -i s/bf16/int7/ sweep.yaml
leadline sweep sweep.yaml -o s.db 2>&1
# Products of weights in a type of their own, as --gemm-dtype has them.
for products in f8 tf32 int8 i64; do
    printf '%s\n' 'base: h100_sxm+archive/server_kernels' "traces: [$PWD/traces/alexnet_train_b8.llt]" 'dtype: bf16' \
        "gemm_dtype: $products" 'vary: {units.tensor.count: [132]}' 'objectives: [min time_s]' >sweep.yaml
    leadline sweep sweep.yaml -o products.db --fresh >/dev/null 2>out.txt || cat out.txt
    leadline pareto products.db --csv | cut -d, -f3
    leadline sim -c h100_sxm+archive/server_kernels --as bf16 --gemm-dtype $products --json traces/alexnet_train_b8.llt 2>&1 |
        grep -E 'time_s|expected' | head -1
done
sed -i s/i64/f16/ sweep.yaml
leadline sweep sweep.yaml -o products.db 2>&1
# Weights without their zeros, as --prune has them.
for pruned in 2:4 90% 3:1; do
    printf '%s\n' 'base: custom_example' "traces: [$PWD/traces/alexnet_infer_b1.llt]" "pruned: $pruned" \
        'vary: {units.array.skips_unstructured: [1, 16]}' 'objectives: [min time_s]' >sweep.yaml
    leadline sweep sweep.yaml -o pruned.db --fresh >/dev/null 2>out.txt || cat out.txt
    leadline pareto pruned.db --csv | cut -d, -f1-3
    leadline sim -c custom_example --set units.array.skips_unstructured=1 --prune $pruned --json \
        traces/alexnet_infer_b1.llt 2>&1 | grep -E 'time_s|expected' | head -1
done
# Weights stored in a type of their own, as --weights-as has them.
for weights in int4 int5; do
    printf '%s\n' 'base: a100_sxm_80gb' "traces: [$PWD/traces/alexnet_infer_b1.llt]" "weights: $weights" \
        'vary: {units.tensor.count: [108]}' 'objectives: [min time_s]' >sweep.yaml
    leadline sweep sweep.yaml -o weights.db --fresh >/dev/null 2>out.txt || cat out.txt
    leadline pareto weights.db --csv | cut -d, -f3
    leadline sim -c a100_sxm_80gb --weights-as $weights --json traces/alexnet_infer_b1.llt 2>&1 |
        grep -E 'time_s|no type' | head -1
done
# An array that multiplies int8 alone: lanes do what was recorded in f32, which sim, sweep, pareto and the page say.
cat >int8.yaml <<'END'
name: Int8
clock: 1GHz
units:
  - {name: array, model: systolic, rows: 64, cols: 64, dataflow: os, macs: {int8: 1}, runs: [matrix, conv]}
  - {name: simd, model: vector, lanes: 64, flops: {int8: 2, f32: 2}}
memory: [{name: dram, size: 8GiB, bandwidth: 100GB/s}]
END
printf '%s\n' 'base: int8.yaml' "traces: [$PWD/traces/alexnet_infer_b1.llt]" \
    'vary: {units.array.rows: [32, 64]}' 'objectives: [min time_s]' >lanes.yaml
leadline sim -c int8.yaml traces/alexnet_infer_b1.llt | grep 'so that lanes'
leadline sweep lanes.yaml -o lanes.db | tail -n +2
leadline sweep lanes.yaml -o lanes.db --json | grep -A1 warnings
leadline pareto lanes.db | head -2
leadline pareto lanes.db --json | grep -A1 warnings
leadline pareto lanes.db --html lanes.html && grep -o '^Warning: .*' lanes.html
echo 'dtype: int8' >>lanes.yaml
leadline sweep lanes.yaml -o lanes.db 2>&1
leadline sweep lanes.yaml -o lanes.db --fresh | tail -n +2
# One that only some of the points deserve.
sed -i 's/macs: {int8: 1}/macs: {f32: 1}/' int8.yaml
printf '%s\n' 'base: int8.yaml' "traces: [$PWD/traces/alexnet_infer_b1.llt]" \
    'vary: {units.array.rows: [32, 64], units.array.macs: [{f32: 1}, {int8: 1}, {f16: 1}]}' \
    'objectives: [min time_s]' >some.yaml
leadline sweep some.yaml -o some.db | tail -n +2
leadline pareto some.db | head -2
