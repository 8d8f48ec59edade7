# SPDX-License-Identifier: Apache-2.0
# What goes out, and comes in again.
leadline record conv2d --dry-run --train -p b=1 -o conv2d.llt
leadline export scalesim conv2d.llt
leadline export scalesim conv2d.llt -o layers.csv --json
leadline import scalesim layers.csv -p dtype=f32 -o layers.llt
leadline export csv conv2d.llt -c v100_sxm_32gb+pytorch
leadline export csv conv2d.llt -c v100_sxm_32gb+pytorch >rows.csv
leadline import csv rows.csv --json
leadline export timeline conv2d.llt -c v100_sxm_32gb+pytorch -p flows=cross
leadline export jsonl layers.llt | cut -c -60
cat >torch.json <<'END'
{"schema": "1.0.1", "nodes": [
 {"name": "aten::linear", "id": 2, "parent": 1, "inputs": [], "input_shapes": [], "input_types": []},
 {"name": "aten::mm", "id": 7, "parent": 2, "seq_id": 0,
  "inputs": [[3,5,0,6,4,"cpu"],[4,6,0,12,4,"cpu"]], "input_shapes": [[2,3],[3,4]],
  "input_types": ["Tensor(float)","Tensor(float)"],
  "outputs": [[8,9,0,8,4,"cpu"]], "output_shapes": [[2,4]], "output_types": ["Tensor(float)"]}]}
END
leadline import pytorch-graph torch.json
echo 'onednn_verbose,exec,cpu,inner_product,gemm:jit,forward_inference,src_f32::blocked:ab:f0,,,mb64ic1024oc512,0.5' >log
leadline import onednn log -o log.llt
leadline export timeline log.llt
# The steps of a recurrent layer are products, too.
echo 'onednn_verbose,exec,cpu,rnn,ref,forward_inference,src_layer_f32::blocked:abc:f0,,alg:vanilla_lstm direction:unidirectional_left2right activation:undef,l1t3mb2sic16slc16dhc32dic32,0.05' >rnn
leadline import onednn rnn -o rnn.llt
leadline export scalesim rnn.llt
leadline export csv conv2d.llt -c v100_sxm_32gb+pytorch -o out.csv --json
cat >profile.json <<'END'
{"traceEvents": [
 {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10, "dur": 100,
  "args": {"External id": 1, "Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"]}},
 {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 2, "ts": 10, "dur": 100,
  "args": {"External id": 2, "Input Dims": [[64, 64], [64, 128]], "Input type": ["float", "float"]}}]}
END
leadline import pytorch-profile profile.json -o profile.llt
leadline info profile.llt | sed -n 3p
