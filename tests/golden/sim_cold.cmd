# SPDX-License-Identifier: Apache-2.0
# One step that loads all weights into a memory that holds them for good, and three of which only the first does.
cat > holds.yaml <<'END'
name: Holds all
clock: 1GHz
units:
  - {name: array, model: systolic, rows: 64, cols: 64, dataflow: ws, macs: {f32: 1}, runs: [matrix, conv]}
  - {name: simd, model: vector, lanes: 128, flops: {f32: 2}}
memory:
  - {name: sram, size: 1GiB, bandwidth: 1TB/s}
  - {name: dram, size: 16GiB, bandwidth: 20GB/s}
END
leadline record alexnet --infer --dry-run --batch 1 -o one.llt >log
leadline record alexnet --infer --dry-run --batch 1 --steps 3 -o three.llt >log
leadline sim -c holds.yaml one.llt | sed -n '4p; /all data/p'
leadline sim -c holds.yaml three.llt | sed -n '4p; /all data/p'
