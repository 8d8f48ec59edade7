# SPDX-License-Identifier: Apache-2.0
# Tables of measured kernels that are none, or another machine's.
. ./try.sh
head=source,hardware,op,dtype,dims,time_s,notes
printf 'name: Mine\ninherits: custom_example\nmeasured: t.csv\n' >mine.yaml
table() {
    printf '%s\n' "$@" >t.csv
    try sim -c mine.yaml traces/alexnet_infer_b1.llt
}
try sim -c mine.yaml traces/alexnet_infer_b1.llt
table source,hardware,op,dtype,dims,seconds,notes
table "$head"
table "$head" 's,mine,gemm,fp32,m=64;n=64;k=64,nan,' 's,mine,gemm,fp32,m=64;n=64;k=64,-1,'
table "$head" 's,mine,gemm,fp32,m=64;n=64;k=64,1e-5,' 's,mine,gemm,fp32,k=64;m=64;n=64,nan,' \
    's,t4,gemm,fp32,m=64;n=64;k=64,1e-5,' 's,NVIDIA T4,gemm,fp32,m=64;n=64;k=64,1e-5,' \
    's,mine,gemm,fp32,m=64;n=64,1e-5,' 's,mine,fft,fp32,n=64,1e-5,' 's,mine,fc_bwd,fp32,m=64;n=64;k=64,1e-5,' \
    's,mine,gemm,fp32,m=64;n=64;k=64,1e-3,' 's,mine,e2e_infer,fp32,model=resnet50;batch=1,1,' \
    's,mine,allreduce,fp32,bytes=64;devices=2;nodes=1,1,'
printf 'name: Two\ninherits: custom_example\nmeasured: [t.csv]\n' >two.yaml
try sim -c two.yaml traces/alexnet_infer_b1.llt
try sim -c mine.yaml --set measured=none.csv traces/alexnet_infer_b1.llt
printf '%s\n' "$head" 's,mine,gemm,fp32,m=64;n=64;k=64,1e-5,' >t.csv
cat >vary.yaml <<'END'
base: mine.yaml
traces: [traces/alexnet_infer_b1.llt]
vary: {measured: [t.csv, u.csv]}
objectives: [min time_s]
END
try sweep vary.yaml
