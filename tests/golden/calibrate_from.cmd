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
