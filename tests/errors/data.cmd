# SPDX-License-Identifier: Apache-2.0
# Rows of measured data that are not what they seem, and files as other programs write them.
. ./try.sh
head=source,hardware,op,dtype,dims,time_s,notes
{
    echo $head
    echo 's,custom_example,gemm,fp32,m=64;n=64;k=64,0.001,'
    echo 's,custom_example,gemm,f32,m=64;n=64;k=64,0.001,'
    echo 's,custom_example,gemm,f99,m=64;n=64;k=64,0.001,'
    echo 's,custom_example,gemm,fp32,m=64;n=64;k=64;transs_a=1,0.001,'
    echo 's,custom_example,e2e_infer,fp32,model=resnet50;batch=1;typo=9,0.001,'
} >rows.csv
leadline validate rows.csv
try import csv rows.csv -o rows.llt
printf '%s\ns,h,relu,f32,n=25,1e-320,\n' $head >least.csv
try validate least.csv

mkdir none
try validate rows.csv --machines /no/such/folder
try validate rows.csv --machines rows.csv
try validate rows.csv --machines none
mkdir twins
printf 'inherits: t4\nname: One\n' >twins/one.yaml
printf 'inherits: t4\nname: Two\n' >twins/two.yaml
try validate rows.csv --machines twins

printf '\357\273\277%s\ns,custom_example,relu,fp32,n=25,1e-6,\n' $head >marked.csv
leadline validate marked.csv --json | grep -m1 '"points"'
printf '\357\273\277name: marked\ninherits: custom_example\n' >marked.yaml
leadline sim -c marked.yaml traces/alexnet_infer_b1.llt | sed -n 2p

cat >wide.yaml <<'END'
base: custom_example
traces: [traces/alexnet_infer_b1.llt]
vary: {memory.hbm.bandwidth: {from: 1e-320GB/s, to: 3TB/s, points: 12, log: true}}
objectives: [min time_s]
END
try sweep wide.yaml
