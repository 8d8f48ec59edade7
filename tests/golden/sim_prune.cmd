# SPDX-License-Identifier: Apache-2.0
leadline sim -c custom_example --set units.array.skips=2:4 --prune 2:4 traces/alexnet_infer_b1.llt
leadline sim -c custom_example --set units.array.skips=2:4 --prune 2:4 --explain 22 traces/alexnet_infer_b1.llt
leadline sim -c archive/vidur_a100 --prune 2:4 --tp 2 traces/alexnet_infer_b1.llt
leadline sim -c custom_example --set units.array.skips_unstructured=16 --prune 90% traces/alexnet_infer_b1.llt
leadline sim -c custom_example --set units.array.skips_unstructured=16 --prune 90% --explain 22 traces/alexnet_infer_b1.llt
# Zeros of activations, and layers that differ.
leadline sim -c custom_example --set units.array.skips_unstructured=16 --set units.array.skips_inputs=4 --prune 90% --activation-sparsity 45% --explain 22 traces/alexnet_infer_b1.llt
printf 'layer,weights,inputs\n*conv*,60%%,30%%\n*,90%%,70%%\n' >zeros.csv
leadline sim -c eyeriss_like --as i16 --sparsity zeros.csv --json traces/alexnet_infer_b1.llt | grep '"energy_j"'
leadline sim -c eyeriss_like --as i16 --json traces/alexnet_infer_b1.llt | grep '"energy_j"'
printf 'Layer,M,N,K\ngemm,4096,4096,4096\n' >gemm.csv
leadline import scalesim -p dtype=f16 gemm.csv -o gemm.llt
leadline sim -c dstc_like --activation-sparsity 30% --prune 60% --per-op gemm.llt | tail -1
# Layers of MobileNet on one element of Eyeriss v2, by a cycle-level model 8.51, 7.50, 8.39, 9.11 and 4.74 ms.
printf 'Layer,M,N,K\nL07,1024,64,64\nL09,256,128,64\nL21,64,256,256\nL23,64,256,256\nL25,16,512,256\n' >layers.csv
printf 'layer,weights,inputs\nL07,48%%,27%%\nL09,18%%,14%%\nL21,40%%,36%%\nL23,30%%,39%%\nL25,35%%,32%%\n' >layer_zeros.csv
leadline import scalesim -p dtype=i16 layers.csv -o layers.llt | tail -1
leadline sim -c eyeriss_v2_element --sparsity layer_zeros.csv --per-op layers.llt | tail -5
