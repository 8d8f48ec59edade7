# SPDX-License-Identifier: Apache-2.0
. ./try.sh
echo hello >hello.txt
printf 'SQLite format 3\0' >cut.sqlite
{
    printf 'SQLite format 3\0\020\0\001\001\0\100\040\040'
    head -c 8192 /dev/zero
} >empty_pages.sqlite
echo '{"rocprofiler-sdk-tool": [{"buffer_records": {"kernel_dispatch": [3]}}]}' >number.json
echo '{"traceEvents": []}' >other.json
printf 'Kind,Start\nx,1\n' >columns.csv
printf 'Kernel_Name,Start_Timestamp,End_Timestamp\ngemm,1\n' >short.csv
echo '[{"cat": "Session", "name": "model_run", "ts": 1, "dur": 2}]' >no_node.json
echo '[{"cat": "Node", "ts": ' >broken.json
cat >timeline.json <<'END'
{"traceEvents": [
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": 1, "ts": 10, "dur": 5, "args": {"correlation": 4}},
  {"ph": "X", "cat": "kernel", "name": "gemm", "tid": 7, "ts": 40, "dur": 30, "args": {"correlation": 4}}]}
END
leadline import pytorch-profile timeline.json -o timeline.llt >/dev/null
for format in nsys rocprofv3 xplane ort-profile; do try import $format hello.txt; done
try import nsys cut.sqlite
try import nsys empty_pages.sqlite
try import nsys cut.sqlite empty_pages.sqlite
try import rocprofv3 number.json
try import rocprofv3 other.json
try import rocprofv3 columns.csv
try import rocprofv3 short.csv
try import ort-profile no_node.json
try import ort-profile broken.json
try import pytorch-profile other.json
try sim --as-recorded --scale gemm timeline.llt
try sim --as-recorded --scale gemm=fast timeline.llt
try sim --as-recorded --scale gemm=-1 timeline.llt
try sim --as-recorded --scale =2 timeline.llt
try sim --as-recorded --drop conv timeline.llt
try sim --as-recorded --drop '' timeline.llt
try sim --scale gemm=2 timeline.llt
try sim --as-recorded --what-if timeline.llt
try sim --as-recorded --batch 4 timeline.llt
try sim --as-recorded --drop gemm traces/alexnet_infer_b1.llt
