# SPDX-License-Identifier: Apache-2.0
# A product took 30 of the 100 us that the device worked; a graph of kernels that no operator started took the rest.
cat >part.json <<END
{"traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "tid": 1, "ts": 10, "dur": 5, "args": {"External id": 4,
   "Input Dims": [[64, 128], [128, 256]], "Input type": ["float", "float"]}},
  {"ph": "X", "cat": "cpu_op", "name": "my::op", "tid": 1, "ts": 20, "dur": 5, "args": {"External id": 5,
   "Input Dims": [[64, 256]], "Input type": ["float"], "Concrete Inputs": [""]}},
  {"ph": "X", "cat": "kernel", "name": "gemm", "tid": 7, "ts": 40, "dur": 30, "args": {"External id": 4}},
  {"ph": "X", "cat": "kernel", "name": "graph", "tid": 7, "ts": 80, "dur": 70, "args": {}}]}
END
gzip part.json
leadline import pytorch-profile part.json.gz --allow-opaque
leadline import pytorch-profile part.json.gz --allow-opaque --json
leadline info part.llt
leadline sim -c h100_sxm+pytorch part.llt
leadline sim -c h100_sxm+pytorch --json part.llt | sed -n '/"coverage"/p; /"memory": {/,/}/p; 1,8p'
