# SPDX-License-Identifier: Apache-2.0
# A comes to the registers out of a buffer, B and C past it: each level is blocked for alone, and the derivation says so.
cat > past.yaml <<'END'
name: Past a buffer
clock: 1GHz
units:
  - {name: array, model: matrix, macs: {f32: 64}, runs: [matrix]}
  - {name: simd, model: vector, lanes: 8, flops: {f32: 2}}
memory:
  - {name: registers, size: 2KiB, bandwidth: 1000GB/s}
  - {name: buffer, size: 16KiB, bandwidth: 100GB/s, holds: [a]}
  - {name: dram, size: 1GiB, bandwidth: 10GB/s}
END
leadline record gemm --dry-run -p m=96 -p n=80 -p k=112 -o product.llt >/dev/null
leadline sim -c past.yaml --explain 0 product.llt | grep 'others\|out of buffer\|out of dram'
