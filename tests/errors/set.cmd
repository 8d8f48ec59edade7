# SPDX-License-Identifier: Apache-2.0
. ./try.sh
for change in rows units.array.rows units.array.rows= units.array.rows=many units.array.rosw=4 units.aray.rows=4 \
    units.array.lanes=4 memory.hbm.bandwidth=900GB memory.hbm.bandwidth=12 memory.sram.size=1GB/s clock=1 \
    "units.simd.flops={f32: 1, f32: 2}" units.array.dataflow=xs units.array=4 memory.hbm.efficiency=1.5 "units.array.runs=[conv3d]" =4; do
    try sim -c custom_example --set "$change" traces/alexnet_infer_b1.llt
done
cat >two.yaml <<'END'
name: Two units
clock: 1GHz
units:
  - {name: a, model: vector, lanes: 4, flops: {f32: 1}}
  - {name: b, model: vector, lanes: 4, flops: {f32: 1}}
memory: [{name: ram, size: 1GiB, bandwidth: 1GB/s}]
END
try machines two.yaml --set a.name=b
# Neither a decimal comma nor one between thousands is the beginning of a unit.
try machines custom_example --set memory.hbm.bandwidth=1,5TB/s
try machines custom_example --set memory.hbm.bandwidth=1,500GB/s
