# SPDX-License-Identifier: Apache-2.0
# An array that has no rate for the type of the trace: its products are left to the lanes, and the report says so.
cat > array.yaml <<'END'
name: Array
clock: 1GHz
units:
  - {name: array, model: systolic, rows: 64, cols: 64, dataflow: ws, macs: {f16: 1}, runs: [matrix, conv]}
  - {name: simd, model: vector, lanes: 128, flops: {f32: 2}}
memory: [{name: dram, size: 16GiB, bandwidth: 64GB/s}]
END
leadline sim -c array.yaml --as bf16 traces/alexnet_infer_b1.llt | grep lanes
leadline sim -c array.yaml --as f16 traces/alexnet_infer_b1.llt | grep lanes
leadline sim -c array.yaml -c custom_example traces/alexnet_infer_b1.llt | grep lanes
