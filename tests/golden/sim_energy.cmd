# SPDX-License-Identifier: Apache-2.0
# A machine that says little of its energy: what is missing is named, not silently free.
cat > partly.yaml <<'END'
name: Partly
clock: 1GHz
units:
  - {name: array, model: systolic, rows: 64, cols: 64, dataflow: ws, macs: {f32: 1}, runs: [matrix, conv]}
  - {name: simd, model: vector, lanes: 128, flops: {f32: 2}}
memory:
  - {name: sram, size: 4MiB, bandwidth: 512GB/s}
  - {name: dram, size: 16GiB, bandwidth: 64GB/s}
energy: {mac_pj: {f32: 4.6}}
END
leadline sim -c partly.yaml traces/alexnet_infer_b1.llt | sed -n '/^  energy/,/^  price/p'
leadline sim -c partly.yaml --set energy.dram_pj_per_byte=100 --set energy.static_w=1 traces/alexnet_infer_b1.llt | sed -n '/^  energy/,/^  price/p'
# Figures of other types than the trace's and the units'.
leadline sim -c partly.yaml --set 'energy.mac_pj={int8: 0.1}' --set 'area.pe_um2={f64: 100}' traces/alexnet_infer_b1.llt | sed -n '/^  energy/,/^  price/p'
# No arithmetic at all, and leakage of an area that nobody gave.
grep -v '^energy' partly.yaml >silent.yaml
echo 'energy: {dram_pj_per_byte: 100, leakage_w_per_mm2: 0.2}' >>silent.yaml
leadline sim -c silent.yaml traces/alexnet_infer_b1.llt | sed -n '/^  energy/,/^  price/p'
# A chip all of whose memory is on it.
sed '/sram/d; $a area: {sram_mm2_per_MiB: 0.5, fixed_mm2: 80}' partly.yaml >alone.yaml
leadline sim -c alone.yaml traces/alexnet_infer_b1.llt | sed -n '/^  energy/,/^  price/p'
# Input that comes from the host, over a way that takes nobody knows what.
leadline sim -c partly.yaml --set host.bandwidth=16GB/s traces/alexnet_infer_b1.llt | sed -n '/^  energy/,/^  price/p'
leadline sim -c partly.yaml --set host.bandwidth=16GB/s --set energy.host_pj=40 traces/alexnet_infer_b1.llt | sed -n '/^  energy/,/^  price/p'
# The same where the file says that it lies on the chip; and an area that says nothing of the memory there.
leadline sim -c alone.yaml --set memory.dram.on_chip=true traces/alexnet_infer_b1.llt | sed -n '/^  energy/,/^  price/p'
leadline sim -c partly.yaml --set 'area.pe_um2={f32: 1000}' traces/alexnet_infer_b1.llt | sed -n '/^  energy/,/^  price/p'
