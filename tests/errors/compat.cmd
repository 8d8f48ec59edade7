# SPDX-License-Identifier: Apache-2.0
. ./try.sh
cat >scale.cfg <<'END'
[general]
run_name = example
[architecture_presets]
ArrayHeigth: 16
ArrayWidth: 32 # columns
IfmapSramSzkB: 0
FilterSramSzkB: 4
FilterSramSzkB: 8
OfmapSramSzkB: 4
Dataflow: xs
a line
[run_presets
InterfaceBandwidth: user
END
cat >net.csv <<'END'
Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,
conv, 18, 18, 3, 3, 16, 32
tall, 18, 18, 19, 3, 16, 3.5, 1,
half, 18, 18, 3, 3, 16, 32, 1.0,
END
cat >good.cfg <<'END'
[architecture_presets]
ArrayHeight: 16
ArrayWidth: 32
IfmapSramSzkB: 4
FilterSramSzkB: 4
OfmapSramSzkB: 4
Dataflow: os
[run_presets]
InterfaceBandwidth: CALC
END
printf 'Layer,M,N,K\nsmall,4,4,4\nlarge,100000,100000,4\n' >products.csv
try sim --compat scalesim2 -c scale.cfg net.csv -o reports
try sim --compat scalesim2 -c good.cfg -i gemm products.csv
try sim --compat scalesim2 -c good.cfg products.csv
tr a-z A-Z <good.cfg >loud.cfg
try sim --compat scalesim2 -c loud.cfg -i gemm products.csv
try sim --compat scalesim2 -c good.cfg nowhere.csv
printf 'Layer,\n' >none.csv
try sim --compat scalesim2 -c good.cfg none.csv
try sim --compat scalesim2 -c good.cfg --input mnk net.csv
try sim --compat scalesim2 net.csv
try sim --compat scalesim2 -c good.cfg --per-op net.csv
try sim --compat scalesim2 -c good.cfg --dp 4 net.csv
try sim --compat scalesim2 -c good.cfg --as-recorded net.csv
try sim --compat scalesim2 -c good.cfg --gemm-dtype f8 net.csv
try sim -c custom_example -o reports traces/alexnet_infer_b1.llt

# Version 3: what its configuration and its layouts must say.
printf 'Layer,M,N,K\nfc,8,8,8\n' >fine.csv
try sim --compat scalesim4 -c good.cfg -i gemm fine.csv
{ sed 's/^Dataflow.*/Dataflow: is/; s/CALC/USER/' good.cfg; printf 'UseRamulatorTrace: True\n[layout]\nIfmapCustomLayout: True\nFilterCustomLayout: maybe\nIfmapSRAMBankBandwidth: 6\nFilterSRAMBankBandwidth: 6\nIfmapSRAMBankNum: 4\n[sparsity]\nSparsitySupport: true\nSparseRep: coo\n'; } >third.cfg
try sim --compat scalesim3 -c third.cfg -i gemm fine.csv
{ cat good.cfg; printf '[layout]\nIfmapCustomLayout: True\nIfmapSRAMBankBandwidth: 6\nIfmapSRAMBankNum: 2\nIfmapSRAMBankPort: 1\nFilterSRAMBankNum: 1\nFilterSRAMBankPort: 1\n'; } >layout.cfg
try sim --compat scalesim3 -c layout.cfg -i gemm fine.csv
printf 'head\nfc,1,8,1,1,1,1,0,1,2,3,4,5,0,1,2,3,4,5,6,7,\n' >wide.csv
printf 'head\nfc,1,1,1,1,1,1,0,1,1,3,4,5,0,1,2,3,4,5,6,7,\n' >twice.csv
try sim --compat scalesim3 -c layout.cfg --layout wide.csv -i gemm fine.csv
try sim --compat scalesim3 -c layout.cfg --layout twice.csv -i gemm fine.csv
try sim --compat scalesim3 -c layout.cfg --layout fine.csv -i gemm fine.csv
try sim --compat scalesim3 -c layout.cfg wide.csv
try sim --compat scalesim2 -c good.cfg --layout wide.csv -i gemm fine.csv
try export ramulator2 traces/alexnet_infer_b1.llt
try export ramulator2 -c custom_example -p burst=0 traces/alexnet_infer_b1.llt
try export booksim -c custom_example -p level=l9 traces/alexnet_infer_b1.llt
try export booksim -c custom_example -p nodes=4 -p memory=5 traces/alexnet_infer_b1.llt
printf '[general]\n' >none.cfg
try sim -c none.cfg traces/alexnet_infer_b1.llt
try sim -c nowhere.cfg traces/alexnet_infer_b1.llt
