# SPDX-License-Identifier: Apache-2.0
. ./try.sh
try
try smi
try fly
try sim
try sim -c custom_example
try sim traces/alexnet_infer_b1.llt
try sim -c
try sim --figure -c custom_example traces/alexnet_infer_b1.llt
try sim -c --per-op traces/alexnet_infer_b1.llt
try sim --per-opp -c custom_example traces/alexnet_infer_b1.llt
try sim -z -c custom_example traces/alexnet_infer_b1.llt
try sim -c custom_example --explain 999 traces/alexnet_infer_b1.llt
try sim -c custom_example --explain three traces/alexnet_infer_b1.llt
try sim -c custom_example --as bf61 traces/alexnet_infer_b1.llt
try sim -c custom_example --gemm-dtype f9 traces/alexnet_infer_b1.llt
try sim -c custom_example --gemm-dtype i64 traces/alexnet_infer_b1.llt
try sim -c custom_example --weights-as int4 traces/alexnet_train_b8.llt
leadline record gemm --infer --dry-run -p dtype=int4 -o gemm.llt >/dev/null
try cache -c i7_6700k --op 0 gemm.llt
rm gemm.llt
leadline record bmm --dry-run -o bmm.llt >/dev/null
try sim -c custom_example --gemm-dtype f8 bmm.llt
rm bmm.llt
try sim -c custom_example --prune 4:2 traces/alexnet_infer_b1.llt
try sim -c custom_example --prune 1:255 traces/alexnet_infer_b1.llt
try sim -c custom_example --gaps some traces/alexnet_infer_b1.llt
try sim -c custom_example --gaps drop --as-recorded traces/alexnet_infer_b1.llt
try info
try info a.llt b.llt
try explain utilisation
try ops conv
try verify
try models --suite fathon
try machines --set a=b
try machines --keys --json
try sim -c custom_example --explain 3 --per-op traces/alexnet_infer_b1.llt
try study F33
try study --all F3
try study F5 -o no/such/folder
try study --whole
try study C6 --figure a.svg --kind C7
try study C6 C7 --figure a.svg --figure b.svg
try study P2 --data nowhere.csv -o unmade
try study F5 --data nowhere.csv -o unmade
try study F5 --whole -o unmade
ls -d unmade 2>/dev/null
try sim -c custom_example --explain 3 --memory traces/alexnet_infer_b1.llt
try info --accounting catamount --memory traces/alexnet_infer_b1.llt
try models alexnet --suite fathom
try plan -c t4+pytorch -c v100_sxm_16gb+archive/deepbench traces/alexnet_train_b8.llt
try cache -c i7_6700k -c t4+pytorch --op 3 traces/alexnet_infer_b1.llt
try export timeline traces/alexnet_infer_b1.llt -c t4+pytorch -c v100_sxm_16gb+archive/deepbench
try sim -c t4+pytorch --figure a.svg --figure b.svg traces/alexnet_infer_b1.llt
# A figure whose name was forgotten does not take the place of a trace.
cp traces/alexnet_infer_b1.llt copy.llt
try sim -c t4+pytorch --figure copy.llt traces/alexnet_infer_b1.llt
ln -s copy.llt link.svg
try sim -c t4+pytorch --figure link.svg traces/alexnet_infer_b1.llt
try sim -c t4+pytorch --figure a.jpg traces/alexnet_infer_b1.llt
try sim -c t4+pytorch --figure svg traces/alexnet_infer_b1.llt
try sim -c t4+pytorch --figure a.svg --kind rooflien traces/alexnet_infer_b1.llt
try sim -c t4+pytorch --kind memory traces/alexnet_infer_b1.llt
try sim -c t4+pytorch --figure a.svg --kind memory --figure b.svg traces/alexnet_infer_b1.llt
try sim -c t4+pytorch --figure nowhere/a.svg traces/alexnet_infer_b1.llt
cmp traces/alexnet_infer_b1.llt copy.llt
rm copy.llt
# Recorded times are those of the ops as they were.
try sim -c custom_example --as-recorded traces/alexnet_train_b8.llt
try sim -c custom_example --as-recorded --dp 2 traces/alexnet_train_b8.llt
try sim -c custom_example --as-recorded --gemm-dtype f8 traces/alexnet_train_b8.llt
try sim -c custom_example --as-recorded --weights-as int4 traces/alexnet_train_b8.llt
try sim -c custom_example --as-recorded --batch 4 traces/alexnet_train_b8.llt
try sim -c custom_example --as-recorded --memory traces/alexnet_train_b8.llt
