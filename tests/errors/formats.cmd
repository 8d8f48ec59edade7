# SPDX-License-Identifier: Apache-2.0
. ./try.sh
leadline record gemm --dry-run -o gemm.llt >/dev/null
echo '{"nodes": [{"name": "mine::op", "id": 1, "inputs": [3], "input_shapes": [[]], "input_types": ["Int"]}]}' >unknown.json
echo '{"nodes": [{"name": "aten::relu", "id": 1, "inputs": [3' >cut.json
echo 'hello' >hello.txt
printf 'source,hardware,op,dtype,dims,time_s,notes\ns,h,fft,fp32,n=4,1,\ns,h,gemm,fp32,m=4,1,\n' >rows.csv
dnnl=onednn_verbose,exec,cpu,inner_product,gemm:jit,forward_inference,src_f32::blocked:ab:f0,,
printf "$dnnl,mb64ic1024oc512,%s\n" 0.5 nan -1 0.5onednn '' 1e308 >times.txt
printf 'Layer,M,N,K,\nfc,0,2,3,\n' >layers.csv
try import pytorch-graph unknown.json
try import pytorch-graph cut.json
try import pytorch-graph hello.txt
try import pytorch-profile unknown.json
try import onednn hello.txt
try import onednn times.txt
try import csv rows.csv
try import scalesim layers.csv
try import scalesim layers.csv -p dtype=f31
try import csv rows.csv -p model=x
try import pytorch_graph unknown.json
try import csv nowhere.csv
try export timeline gemm.llt
try export timeline gemm.llt -p flows=some
try export jsonl gemm.llt -c v100_sxm_32gb+pytorch
try export csv gemm.llt
try export chakra gemm.llt --set clock=1GHz
try export onednn gemm.llt
try export jsonl gemm.llt --json
echo older >kept.json
try export timeline gemm.llt -o kept.json
try export chakra gemm.llt -p nonsense=1 -o kept.json
cat kept.json
ls kept.json*
try export timeline gemm.llt --json
# A trace without a product has no topology.
printf '%s\n' source,hardware,op,dtype,dims,time_s,notes 'here,V100,relu,fp32,b=8;h=64,1e-5,' >relu.csv
leadline import csv relu.csv -o relu.llt >/dev/null 2>&1
try export scalesim relu.llt -o topology.csv
# A timeline's file says its format, and a plan needs a machine.
try export timeline traces/alexnet_infer_b1.llt -c custom_example -o timeline.csv
try export timeline traces/alexnet_infer_b1.llt -c custom_example -o timeline -p format=proto
try export timeline traces/alexnet_infer_b1.llt --pp 2 -o timeline.pftrace
try export csv traces/alexnet_infer_b1.llt -c dgx_h100 --dp 2 -o timeline.csv
try export timeline traces/alexnet_train_b8.llt -c dgx_h100 --dp 8 -p devices=some -o timeline.pftrace
try export timeline traces/alexnet_train_b8.llt -c dgx_h100 --dp 3 --batch 8 -o timeline.pftrace
ls timeline* 2>/dev/null || true
