# SPDX-License-Identifier: Apache-2.0
# Complaints come before any result, also where another machine is fine.
. ./try.sh
try sim -c custom_example -c machines/unknown_key.yaml traces/alexnet_infer_b1.llt
try sim -c traces/alexnet_infer_b1.llt traces/alexnet_infer_b1.llt
try sweep traces/alexnet_infer_b1.llt
# The last of more than a hundred machines are suggested like the first.
try sim -c xeon_phi_725 traces/alexnet_infer_b1.llt
# Names that go on are told, no list of everything; parts have names of their own.
try sim -c quadro traces/alexnet_infer_b1.llt
try sim -c nobody.yaml traces/alexnet_infer_b1.llt
try machines stacks/xla_tpv
# Where the name has a folder, what is there is suggested; of many the nearest.
try machines ./machines/anchor.yml
try machines ./machines/rnus.yaml
try machines machines/
try machines /nonexistent.yaml
mkdir -p own/parts
for i in 1 2 3 4 5 6 7 8 9; do touch own/parts/part_$i.yaml own/parts/part_a$i.yaml own/parts/part_ab$i.yaml; done
LEADLINE_PATH=own try machines parts/nobody
echo 'inherits: ./machines/unknown-key.yaml' >mine.yaml
try machines ./mine.yaml
# A stack that nobody has, and two that have nothing for such a device.
try sim -c h100_sxm+mxnet traces/alexnet_infer_b1.llt
try sim -c tpu_v2+pytorch traces/alexnet_infer_b1.llt
try sim -c h100_sxm+archive/paradnn traces/alexnet_infer_b1.llt
