# SPDX-License-Identifier: Apache-2.0
# Steps on several GPUs of a board are scored under whatever software they were measured. These times are made up.
cat > steps.csv <<'END'
source,hardware,op,dtype,dims,time_s,notes
neusight_e2e,4x NVIDIA H100-SXM5-80GB,e2e_train,fp32,model=gpt2_large;batch=8;seq=1024;mode=train;dp=4,0.3,
neusight_e2e,4x NVIDIA H100-SXM5-80GB,e2e_train,fp32,model=gpt2_large;batch=8;seq=1024;mode=train;tp=4;devices=4,0.3,
neusight_e2e,4x NVIDIA A100-SXM4-40GB,e2e_train,fp32,model=gpt2_large;batch=8;seq=1024;mode=train;pp=4;microbatch=2,0.9,
neusight_e2e,4x NVIDIA A100-SXM4-80GB,e2e_infer,fp32,model=bert_large;batch=16;seq=512;mode=inf;dp=4,0.1,
other,8x NVIDIA A100-SXM4-40GB,allreduce,fp32,bytes=100000000;devices=8,0.001,
END
leadline validate steps.csv --rows rows.csv
cut -d, -f1,2,6,9 rows.csv
