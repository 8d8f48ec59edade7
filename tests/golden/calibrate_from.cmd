# SPDX-License-Identifier: Apache-2.0
# A pipe of half the bandwidth, found from rows that it would have taken; and what is refused.
cat > pipe.yaml <<'END'
name: Pipe
clock: 1GHz
units: [{name: lanes, model: vector, count: 1, lanes: 1024, flops: {f32: 1}}]
memory: [{name: pipe, size: 1GiB, bandwidth: 100B/s}]
END
echo "hardware: {A Pipe: pipe}" > aliases.yaml
cat > data.csv <<'END'
source,hardware,op,dtype,dims,time_s,notes
test,A Pipe,relu,fp32,n=25,4,
test,A Pipe,relu,fp32,n=50,8,
test,A Pipe,relu,fp32,n=100,16,
test,A Pipe,relu,fp32,n=200,32,
test,A Pipe,spmm,fp32,m=1;n=1;k=1,1,
END
leadline calibrate --from data.csv --machine ./pipe.yaml --fit pipe.bandwidth,units.lanes.efficiency --folds 2 -o fitted.yaml
grep -v inherits fitted.yaml
mkdir mine; cp fitted.yaml mine; echo "hardware: {A Pipe: fitted}" > mine/aliases.yaml
leadline validate --machines mine data.csv | head -2
leadline calibrate --from data.csv --machine ./pipe.yaml --fit pipe.bandwith
leadline calibrate --from data.csv --machine ./pipe.yaml --fit memory.pipe.bandwith
for path in clock units.lanes.count memory.pipe.size; do
    leadline calibrate --from data.csv --machine ./pipe.yaml --fit $path
done
leadline calibrate --from data.csv --machine ./pipe.yaml --fit pipe.latency
leadline calibrate --from data.csv --machine ./pipe.yaml --folds 6 --json
leadline calibrate --from data.csv
leadline calibrate --fit pipe.bandwidth
sed 's/A Pipe/Another/' data.csv > other.csv
leadline calibrate --from other.csv --machine ./pipe.yaml
sed 's/A Pipe/8x A Pipe/' data.csv > eight.csv
leadline calibrate --from eight.csv --machine ./pipe.yaml
sed 's/,[0-9]*,$/,nan,/' data.csv > untimed.csv
leadline calibrate --from untimed.csv --machine ./pipe.yaml
# Rows that no bandwidth explains: a fit to some of them predicts the others no better, and is not written.
{ head -1 data.csv; for n in 25 50 100 200 400; do echo "test,A Pipe,relu,fp32,n=$n,$((n / 50 + 1)),"
    echo "test,A Pipe,relu,fp32,n=$((n + 1)),$((n / 5)),"; done; } >torn.csv
leadline calibrate --from torn.csv --machine ./pipe.yaml --fit pipe.bandwidth --folds 5 -o torn.yaml; echo "status $?"
ls torn.yaml 2>/dev/null
# A table of kernels that no bandwidth explains, but their neighbours do; and one that helps nobody.
{ head -1 data.csv; for n in 20 22 25 28 50 55 60 100 110 120 200 220 240 400; do echo "test,A Pipe,relu,fp32,n=$n,$((n * n / 100 + 4)),"
    echo "test,A Pipe,tanh,fp32,n=$n,$((n / 6)),"; done; } >curved.csv
leadline calibrate --from curved.csv --machine ./pipe.yaml --fit pipe.bandwidth -o curved.yaml --table kernels.csv; echo "status $?"
head -4 kernels.csv; cat curved.yaml | grep -v inherits
printf 'hardware: {A Pipe: curved}\n' >mine/aliases.yaml && cp curved.yaml kernels.csv pipe.yaml mine && rm mine/fitted.yaml
leadline validate --machines mine curved.csv 2>&1 | tail -4
leadline calibrate --from torn.csv --machine ./pipe.yaml --fit pipe.bandwidth -o torn.yaml --table torn_table.csv; echo "status $?"
ls torn.yaml torn_table.csv 2>/dev/null
leadline calibrate --from curved.csv --machine ./curved.yaml
leadline calibrate --table t.csv
