# SPDX-License-Identifier: Apache-2.0
# Measured times against a machine of this folder's own: 100 bytes at 100 B/s, no other cost.
mkdir machines
cat > machines/pipe.yaml <<'END'
name: Pipe
kind: custom
clock: 1GHz
units: [{name: lanes, model: vector, count: 1, lanes: 1024, flops: {f32: 1}}]
memory: [{name: pipe, size: 1GiB, bandwidth: 100B/s}]
END
echo "hardware: {A Pipe: pipe, 'other: A Pipe': slow}" > machines/aliases.yaml
cat > one.csv <<'END'
source,hardware,op,dtype,dims,time_s,notes
test,A Pipe,ew_add,fp32,n=25;nin=1,2,200 bytes
test,A Pipe,ew_add,fp32,n=25;nin=1,1.6,200 bytes
test,8x A Pipe,ew_add,fp32,n=25;nin=1,1.6,200 bytes
END
cat > two.csv <<'END'
source,hardware,op,dtype,dims,time_s,notes
test,pipe,relu,fp32,n=25,4,
test,A Pipe,spmm,fp32,m=1;n=1;k=1,1,
test,A Pipe,fft,fp32,n=1,1,
test,Another,relu,fp32,n=25,4,
END
leadline validate --machines machines one.csv two.csv --rows rows.csv --figure errors.svg
cat rows.csv
grep -c 'stroke-opacity' errors.svg
leadline validate --machines machines one.csv missing.csv
echo "exit $?"
# Machines of one's own inherit those that are at hand, by stem or by the name of the file.
printf 'name: Mine\ninherits: custom_example.yaml\n' > machines/mine.yaml
printf 'source,hardware,op,dtype,dims,time_s,notes\ntest,Mine,relu,fp32,n=25,4e-6,\n' > mine.csv
leadline validate --machines machines mine.csv
# One hardware under software for which another machine answers: scored apart, and error bars of its own.
printf 'name: Slow pipe\ninherits: pipe\nmemory: [{name: pipe, bandwidth: 50B/s}]\n' \
    > machines/slow.yaml
{ cat one.csv; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo 'other,A Pipe,ew_add,fp32,n=25;nin=1,5,'; done; } \
    > both.csv
leadline validate --machines machines both.csv --residuals residuals.csv --figure both.svg
cat residuals.csv
grep -o '[0-9]* rows, [^<]*' both.svg
# Beside a roofline of three figures that was fitted to every second row.
leadline validate --machines machines both.csv --fitted
leadline validate --machines machines both.csv --fitted --json | sed -n '/"fitted"/,$p'
leadline validate --machines machines both.csv --fitted --json | grep 'roofline_fitted\|same_rows'
# How often the intervals hold that other rows give, and those of the table beside the machines.
leadline validate --machines machines both.csv --intervals
sed 's/0.2231,0.2231,0.2231/0.2,0.21,0.3/' residuals.csv > machines/residuals.csv
leadline validate --machines machines both.csv --intervals --json | sed -n '/"intervals"/,/]/p'
echo 'machine,family,size,points,p10,p50,p90' > machines/residuals.csv
echo 'slow,elementwise,all,20,0.3,0.2,0.1' >> machines/residuals.csv
leadline validate --machines machines both.csv --intervals
echo "exit $?"
rm machines/residuals.csv
# A machine with a residual table: what the model says alone, and with the table.
printf 'name: Tuned\ninherits: custom_example.yaml\noverlay: [{name: matmul, shapes: [64x64x64=1.1/2]}]\nsoftware: {kernels: [{name: matmul, ops: [matmul]}]}\n' \
    > machines/tuned.yaml
printf 'source,hardware,op,dtype,dims,time_s,notes\ntest,Tuned,gemm,fp32,m=64;n=64;k=64,4e-6,\ntest,Tuned,relu,fp32,n=25,4e-6,\n' > tuned.csv
leadline validate --machines machines tuned.csv
leadline validate --machines machines tuned.csv --json | grep -A3 'model_alone\|with_table' | head -20
# A server in any version, and what only begins like it.
echo "hardware: {A Pipe: pipe, 'soft, Server *: A Pipe': slow}" > machines/aliases.yaml
printf 'source,hardware,op,dtype,dims,time_s,notes\nsoft,A Pipe,relu,fp32,n=25,4,Server 1.2; a\nsoft,A Pipe,relu,fp32,n=25,2,Server fast; a\n' > soft.csv
leadline validate --machines machines soft.csv --rows soft_rows.csv > /dev/null
cut -d, -f6,7 soft_rows.csv
# Blocks of shapes, predicted by figures that were fitted to the others: a pipe that is slower than its file says.
{ head -1 one.csv; for n in 20 50 100 200 400 800 1600; do echo "test,A Pipe,ew_add,fp32,n=$n;nin=1,$n,"; done; } >slower.csv
leadline validate --machines machines slower.csv --held-out shapes
leadline validate --machines machines slower.csv --held-out shapes --json | sed -n '/"held_out"/,$p'
leadline validate --machines machines one.csv --held-out shapes 2>&1 | tail -3
leadline validate --machines machines one.csv --held-out devices
