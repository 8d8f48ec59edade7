# SPDX-License-Identifier: Apache-2.0
cat >scale.cfg <<'END'
[general]
run_name = example
[architecture_presets]
ArrayHeight: 16
ArrayWidth: 32
IfmapSramSzkB: 4
FilterSramSzkB: 4
OfmapSramSzkB: 4
IfmapOffset: 0
FilterOffset: 10000000
OfmapOffset: 20000000
Bandwidth: 10
Dataflow: ws
[run_presets]
InterfaceBandwidth: USER
END
cat >net.csv <<'END'
Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,
conv, 18, 18, 3, 3, 16, 32, 1,
depthwise_DP, 16, 16, 3, 3, 3, 1, 2,
fc, 1, 1, 1, 1, 512, 100, 1,
END
printf 'Layer,M,N,K\nproduct,64,100,64\n' >products.csv
leadline sim --compat scalesim2 -c scale.cfg net.csv -o reports
leadline sim --compat scalesim2 -c scale.cfg --input gemm products.csv --json
cat reports/COMPUTE_REPORT.csv reports/BANDWIDTH_REPORT.csv reports/DETAILED_ACCESS_REPORT.csv
sed 1d net.csv >headless.csv
leadline sim --compat scalesim2 -c scale.cfg headless.csv 2>&1 | sed 1q
# What version 3 adds is named, not silently left out.
{ cat scale.cfg; printf '[sparsity]\nSparsitySupport : true\n'; } > three.cfg
leadline sim --compat scalesim2 -c three.cfg net.csv 2>&1 | sed 1q
# Convolutions read as products, and a memory faster than any of ours.
leadline sim --compat scalesim2 -c scale.cfg --input gemm net.csv 2>&1 | sed 1q
sed 's/^Bandwidth.*/Bandwidth: 4000000000/' scale.cfg >wide.cfg
leadline sim --compat scalesim2 -c wide.cfg --input gemm products.csv | sed -n 3p
# Version 3: sparse filters, layer by layer and row by row; a layout with bank conflicts.
cat >sparse.cfg <<"EOF"
[general]
run_name = third
[architecture_presets]
ArrayHeight: 8
ArrayWidth: 16
IfmapSramSzkB: 4
FilterSramSzkB: 4
OfmapSramSzkB: 4
IfmapOffset: 0
FilterOffset: 10000000
OfmapOffset: 20000000
Bandwidth: 10
Dataflow: ws
[layout]
IfmapCustomLayout: False
IfmapSRAMBankBandwidth: 8
IfmapSRAMBankNum: 2
IfmapSRAMBankPort: 1
FilterCustomLayout: False
FilterSRAMBankBandwidth: 8
FilterSRAMBankNum: 1
FilterSRAMBankPort: 2
[sparsity]
SparsitySupport: true
SparseRep: ellpack_block
OptimizedMapping: false
BlockSize: 4
RandomNumberGeneratorSeed: 40
[run_presets]
InterfaceBandwidth: USER
UseRamulatorTrace: False
EOF
printf 'Layer,M,N,K,Sparsity\nfc,64,100,64,2:4,\n' >sparse.csv
leadline sim --compat scalesim3 -c sparse.cfg --input gemm sparse.csv -o third
cat third/*.csv
sed 's/^OptimizedMapping.*/OptimizedMapping: true/' sparse.cfg >rows.cfg
leadline sim --compat scalesim3 -c rows.cfg --input gemm sparse.csv | sed -n 3p
sed 's/^SparsitySupport.*/SparsitySupport: false/; s/^IfmapCustom.*/IfmapCustomLayout: True/' sparse.cfg >layout.cfg
printf 'Layer name, IFMAP Height Intraline Factor\nfc,1,2,1,1,4,1,0,2,1,3,5,4,0,1,2,3,4,5,6,7,\n' >layout.csv
leadline sim --compat scalesim3 -c layout.cfg --layout layout.csv net.csv | sed -n 3p
leadline sim --compat scalesim3 -c sparse.cfg --layout layout.csv net.csv 2>&1 | sed -n 1p
# A title above the header.
{ printf 'My network,,,,\n'; cat net.csv; } >titled.csv
leadline sim --compat scalesim2 -c scale.cfg titled.csv | sed -n 3p
# The configuration as a machine; what it moves, for other simulators.
leadline import scalesim products.csv -o products.llt | tail -1
leadline sim -c scale.cfg products.llt --per-op | tail -1
leadline export ramulator2 -c scale.cfg products.llt -o dram.trace
sed -n '1,4p' dram.trace; cut -c1-2 dram.trace | sort | uniq -c
leadline export booksim -c scale.cfg -p nodes=9 -p memory=5 -p packet=128 products.llt -o noc.trace
sed -n '1,2p;$p' noc.trace; cut -d' ' -f2,4 noc.trace | sort | uniq -c
