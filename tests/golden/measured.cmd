# SPDX-License-Identifier: Apache-2.0
# A machine with a table of measured kernels: what it makes of a step, of other figures of the machine, of a file
# that inherits it; how rows are scored that stand in the table; and a sweep, which keeps the ratios.
head=source,hardware,op,dtype,dims,time_s,notes
{
    echo $head
    echo 's,Mine,gemm,fp32,m=1;n=4096;k=9216,4e-4,'
    echo 's,Mine,gemm,fp32,m=1;n=4096;k=4096,2e-4,'
    echo 's,Mine,gemm,fp32,m=1;n=1000;k=4096,1e-4,'
    echo 's,Mine,conv2d_fwd,fp32,b=1;c=3;h=224;w=224;k=96;r=11;s=11;stride_h=4;stride_w=4;pad_h=2;pad_w=2,3e-4,'
} >t.csv
printf 'name: Mine\ninherits: custom_example\nmeasured: t.csv\n' >mine.yaml
leadline sim -c mine.yaml traces/alexnet_infer_b1.llt
leadline sim -c mine.yaml traces/alexnet_infer_b1.llt --json | grep -A4 '"shares_of_time"'
leadline sim -c mine.yaml traces/alexnet_infer_b1.llt --json --per-op | grep '"time_from"' | sort | uniq -c
leadline sim -c mine.yaml traces/alexnet_infer_b1.llt --explain 22 | tail -n 12
mkdir machines && cp mine.yaml t.csv machines
leadline validate t.csv --machines machines --rows rows.csv
cut -d, -f5- rows.csv
# Twice the memory bandwidth halves what it bounds, here as in the model.
printf 'name: Twice\ninherits: mine.yaml\nmemory: [{name: hbm, bandwidth: 1800GB/s}]\n' >twice.yaml
for machine in '-c mine.yaml' '-c mine.yaml --set memory.hbm.bandwidth=1800GB/s' '-c twice.yaml' '-c custom_example --set measured=t.csv'; do
    leadline sim $machine traces/alexnet_infer_b1.llt --json 2>&1 | grep -m1 '"time_s"\|t.csv'
done
cat >sweep.yaml <<'END'
base: mine.yaml
traces: [traces/alexnet_infer_b1.llt]
vary: {memory.hbm.bandwidth: [900GB/s, 1800GB/s]}
objectives: [min time_s]
END
leadline sweep sweep.yaml -o s.db >/dev/null 2>&1
leadline pareto s.db --json | grep '"time_s"'
