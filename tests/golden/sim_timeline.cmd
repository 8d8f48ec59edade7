# SPDX-License-Identifier: Apache-2.0
# Two ranks: each computes, reduces, computes beside that; rank 1 comes 30 us later to the exchange and has a clock of
# its own. One kernel was launched before the recording.
rank() {
    cat <<END
{"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "traceEvents": [
  {"ph": "X", "cat": "kernel", "name": "before", "tid": 7, "ts": $(($1 + 1)), "dur": 9, "args": {"device": 0, "stream": 7, "correlation": 1}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": 1, "ts": $(($1 + 2)), "dur": 4, "args": {"correlation": 2}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaEventRecord", "tid": 1, "ts": $(($1 + 7)), "dur": 1, "args": {"correlation": 3}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamWaitEvent", "tid": 1, "ts": $(($1 + 9)), "dur": 1, "args": {"correlation": 4}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernelExC", "tid": 1, "ts": $(($1 + 11)), "dur": 4, "args": {"correlation": 5}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "tid": 1, "ts": $(($1 + 16)), "dur": 4, "args": {"correlation": 6}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "tid": 1, "ts": $(($1 + 21)), "dur": $(($2 + $3 + 2)), "args": {"correlation": 7}},
  {"ph": "X", "cat": "kernel", "name": "void gemm<bf16>(int)", "tid": 7, "ts": $(($1 + 12)), "dur": $2, "args": {"device": 0, "stream": 7, "correlation": 2}},
  {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "tid": 9, "ts": $(($1 + 13 + $2)), "dur": $3, "args": {"device": 0, "stream": 9, "correlation": 5,
    "Collective name": "allreduce", "In msg nelems": 1024, "Out msg nelems": 1024, "dtype": "BFloat16", "Group size": 2, "Process Group Name": "0"}},
  {"ph": "X", "cat": "kernel", "name": "softmax", "tid": 7, "ts": $(($1 + 14 + $2)), "dur": 12, "args": {"device": 0, "stream": 7, "correlation": 6}},
  {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoD", "tid": 7, "ts": $(($1 + 28 + $2)), "dur": 6, "args": {"device": 0, "stream": 7, "correlation": 6, "bytes": 4096}}]}
END
}
rank 1000 60 50 >r0.json
rank 7000 90 20 >r1.json
leadline import pytorch-profile r0.json r1.json -o two.llt
leadline sim --as-recorded two.llt
leadline sim --as-recorded --scale 'gemm*=0.5' two.llt | head -12
leadline sim --as-recorded --drop nccl --json two.llt
leadline import pytorch-profile r0.json | tail -1
leadline sim --as-recorded --scale '*=0.5' --scale Memcpy=2 r0.llt | head -14
leadline sim -c mi300x r0.llt | head -4
# The process sees one device, whose number on the host is 3; of several that differ nobody knows which it is.
sed 's/"device": 0/"device": 3/; s/NVIDIA H100 80GB HBM3/NVIDIA GeForce RTX 4090/' r0.json >host.json
sed 's/"deviceProperties": \[/&{"id": 1, "name": "NVIDIA L4"}, /' host.json >differ.json
for file in host differ; do
    leadline import pytorch-profile $file.json >/dev/null
    leadline sim -c h100_sxm $file.llt | head -3
done
