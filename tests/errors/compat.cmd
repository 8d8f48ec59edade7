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
try sim --compat scalesim3 -c good.cfg net.csv
try sim --compat scalesim2 -c good.cfg --input mnk net.csv
try sim --compat scalesim2 net.csv
try sim --compat scalesim2 -c good.cfg --per-op net.csv
try sim --compat scalesim2 -c good.cfg --dp 4 net.csv
try sim --compat scalesim2 -c good.cfg --as-recorded net.csv
try sim --compat scalesim2 -c good.cfg --gemm-dtype f8 net.csv
try sim -c custom_example -o reports traces/alexnet_infer_b1.llt
