# SPDX-License-Identifier: Apache-2.0
# What a program did outside of ops is waited for on any machine, and has no rate.
printf '%s\n' source,hardware,op,dtype,dims,time_s,notes 'p,h,gap,fp32,n=0;nin=0,0.002,' \
    'p,h,gemm,fp32,m=512;n=512;k=512;ta=N;tb=N,0.001,' >rows.csv
leadline import csv rows.csv -o rows.llt
leadline sim -c i7_6700k rows.llt | sed -n '/^  kind /,/^$/p'
