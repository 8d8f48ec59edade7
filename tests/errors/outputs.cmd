# SPDX-License-Identifier: Apache-2.0
# What is to be written is none of what is read, is no other output, and has a name.
. ./try.sh
cp traces/alexnet_infer_b1.llt T.llt
echo 'inherits: custom_example' >mine.yaml
printf 'source,hardware,op,dtype,dims,time_s,notes\ns,custom_example,gemm,fp32,m=64;n=64;k=64,0.001,\n' >d.csv
ln T.llt linked.llt
for file in T.llt mine.yaml d.csv; do cp $file $file.kept; done

try export jsonl T.llt -o T.llt
try export jsonl T.llt -o ./linked.llt
try calibrate --from d.csv --machine mine.yaml -o mine.yaml
try calibrate --from d.csv --machine mine.yaml -o d.csv
try calibrate --keep new.llt -o ./new.llt
try validate d.csv --rows d.csv
try validate d.csv --residuals d.csv
try validate d.csv --rows new.csv --residuals new.csv
try import csv d.csv -o d.csv
mv d.csv d.llt
try import csv d.llt
mv d.llt d.csv
try sim -c mine.yaml T.llt --figure mine.yaml
try sim -c mine.yaml T.llt --figure a.svg --kind roofline --figure ./a.svg --kind memory
ls a.svg new.csv new.llt 2>/dev/null
for file in T.llt mine.yaml d.csv; do cmp $file $file.kept; done

for command in "sweep mine.yaml" "merge a.db" "study P2" "train memnet" "record alexnet --dry-run" "import csv d.csv" \
    "export jsonl T.llt" "calibrate" "pareto a.db --kind front"; do
    # shellcheck disable=SC2086 # words
    try $command -o ''
done
try pareto a.db --html ''
try sim T.llt -c mine.yaml --figure ''

# Beginnings of options count as long as they are of one.
try sim -c mine.yaml --b 4 T.llt
try sim -c mine.yaml --o=x T.llt
try sim -c mine.yaml --nothing=x T.llt
leadline sim -c mine.yaml --batch=4 --js T.llt | head -1
try record gemm --dry-run -p m=4 -p n=2 -p m=8
