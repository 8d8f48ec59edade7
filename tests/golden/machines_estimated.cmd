# SPDX-License-Identifier: Apache-2.0
# A GPU from its data sheet: one file, the rest is its family's.
cat > mine.yaml <<'END'
name: A GPU from its data sheet
kind: gpu
family: nvidia_hopper
year: 2024
estimated: true
clock: 1.965GHz
units: [{name: tensor, count: 148, clock: 1.856GHz, macs: {f16: 4096, bf16: 4096, tf32: 2048, f8: 8192, int8: 8192, f4: 16384, f64: 64}}, {name: tensor_unaligned, count: 148}, {name: fma_batched, count: 148}, {name: fma, count: 148}, {name: simd, count: 148}]
memory: [{name: l2, size: 126MiB, bandwidth: 5500B/cycle}, {name: hbm3e, size: 180GiB, bandwidth: 8TB/s, efficiency: 0.9}]
host: {bandwidth: 63GB/s}
energy: {static_w: 200, limit_w: 1000}
sources: {estimated: "NVIDIA's data sheet of HGX B200"}
END
leadline machines mine.yaml | sed '/^$/q'
leadline sim -c h100_sxm -c mine.yaml -c mine.yaml+pytorch traces/alexnet_infer_b1.llt
leadline sim -c mine.yaml+xla traces/alexnet_infer_b1.llt
echo "status $?"
leadline sim -c h100 traces/alexnet_infer_b1.llt | sed -n 2p
leadline sim -c v100_sxm2_16gb traces/alexnet_infer_b1.llt | sed -n 2p
leadline machines --json | grep -A14 '"machine": "l4"'
