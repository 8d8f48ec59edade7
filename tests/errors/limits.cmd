# SPDX-License-Identifier: Apache-2.0
# Plans that would take minutes or mean nothing, machines out of pipes, and names that would do something to a
# terminal.
. ./try.sh
T=traces/alexnet_train_b8.llt
try sim -c archive/vidur_a100 --dp 2 --pp 8 --batch 1073741824 --micro-batch 1 $T
try sim -c archive/vidur_a100 --pp 2 --micro-batch 2 --schedule interleaved $T
printf 'name: piped\ninherits: custom_example\n' | leadline sim -c /dev/stdin $T | sed -n 2p
try sim -c . $T
try sim -c none/here $T
leadline info "$(printf 'a\033[31mb.llt')" 2>&1
try calibrate $T -o none.yaml
try record --coverage -- nope
leadline info --batch 16 $T | sed -n 3p
leadline dump --help | sed -n '/^Options/,$p'
for term in resident MAPE bias launch-bound 'in flight' works share; do leadline explain "$term" | head -1; done
leadline sim -c custom_example --set memory.hbm.size=1PiB $T | sed -n 2p

# What ops have reached in the time that they were recorded to take.
printf 'source,hardware,op,dtype,dims,time_s,notes\ns,h,gemm,f32,m=512;n=512;k=512,1e-3,\n' >rows.csv
leadline import csv rows.csv -o rows.llt >/dev/null
leadline sim -c v100_sxm_16gb+archive/deepbench --as-recorded --per-op rows.llt | tail -2
leadline sim -c v100_sxm_16gb+archive/deepbench --per-op rows.llt | tail -2
