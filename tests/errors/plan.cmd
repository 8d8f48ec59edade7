# SPDX-License-Identifier: Apache-2.0
. ./try.sh
cat >plan.yaml <<'END'
dp: 16
tq: 4
zero: 4
schedule: 2f2b
END
try sim -c archive/vidur_a100 --plan plan.yaml traces/alexnet_train_b8.llt
try sim -c archive/vidur_a100 --plan no_such.yaml traces/alexnet_train_b8.llt
try sim -c archive/vidur_a100 --dp many traces/alexnet_train_b8.llt
try sim -c archive/vidur_a100 --dp 64 traces/alexnet_train_b8.llt
try sim -c archive/vidur_a100 --dp 3 --batch 16 --ep 2 traces/alexnet_train_b8.llt
try sim -c archive/vidur_a100 --dp 2 --micro-batch 3 traces/alexnet_train_b8.llt
try sim -c titan_v --dp 2 traces/alexnet_train_b8.llt
try sim -c archive/vidur_a100 --pp 16 traces/alexnet_train_b8.llt
try plan traces/alexnet_train_b8.llt
try plan -c archive/vidur_a100 --devices 64 traces/alexnet_train_b8.llt
try sim -c archive/vidur_a100 --tp 5 traces/alexnet_train_b8.llt
try sim -c archive/vidur_a100 --cp 2 traces/alexnet_train_b8.llt
leadline record --dry-run --train --batch 2 -p layers=1 -p hidden=64 -p heads=4 -p kv_heads=2 -p ffn_hidden=96 -p seq=32 \
    -p vocabulary=128 -p dtype=bf16 -p fused=1 -o llama.llt llama >/dev/null
try sim -c archive/vidur_a100 --cp 3 llama.llt
try sim -c archive/vidur_a100 --tp 2 --tp-overlap llama.llt
try sim -c archive/vidur_a100 --dp 2 --zero 1 --grad-compression powersgd:4 llama.llt
try sim -c archive/vidur_a100 --dp 2 --grad-compression top_k llama.llt
# Forms in which no gradient goes, or that nothing goes between.
try sim -c archive/vidur_a100 --dp 2 --grad-compression powersgd:4096 llama.llt
try sim -c archive/vidur_a100 --dp 2 --grad-compression bf16 llama.llt
try sim -c archive/vidur_a100 --tp 2 --grad-compression f8 llama.llt
# Layers are divided in one way, and pools have stages.
try sim -c archive/vidur_a100 --pp 2 --pipeline-model-parallel-layout 'Et|tt|L' llama.llt
try sim -c archive/vidur_a100 --pp 2 --pipeline-model-parallel-layout 'Et||L' llama.llt
try sim -c archive/vidur_a100 --account-for-loss-in-pipeline-split llama.llt
try sim -c archive/vidur_a100 --pp 2 --first-stage-layers 1 --account-for-loss-in-pipeline-split llama.llt
try sim -c dgx_h100,dgx_a100 llama.llt
try sim -c dgx_h100,dgx_a100 --pp 2 llama.llt
try sim -c dgx_h100 --pp 2 --pool-stages 1,1 llama.llt
try plan -c dgx_h100,dgx_a101 llama.llt
try plan -c dgx_h100 --devices 8 --batch 8 --tp 3,5 llama.llt
try plan -c dgx_h100 --devices 8 --batch 8 --low-precision fp8 llama.llt
try plan --serve -c dgx_h100 --model llama3-8b --rate 1 --tp 2
try sim -c archive/vidur_a100 --low-precision mxfp8 --low-precision-gemms bprop llama.llt
try sim -c archive/vidur_a100 --low-precision mxfp8 --first-layers-kept 99 llama.llt
try sim -c archive/vidur_a100 --dp 2 --zero 2 --prefetch 2 --first-layers-kept 1 --turned-copies llama.llt
try sim -c archive/vidur_a100 --low-precision delayed traces/alexnet_infer_b1.llt
try sim -c archive/vidur_a100 --dp 4 --cp 8 llama.llt
leadline record --dry-run --train --batch 2 -p length=16 -o rnn.llt paradnn_rnn >/dev/null
try sim -c archive/vidur_a100 --cp 2 rnn.llt
leadline export chakra traces/alexnet_train_b8.llt -o rank.0.et
cp rank.0.et rank.1.et
leadline import chakra rank.0.et rank.1.et -o ranks.llt >/dev/null
try sim -c archive/vidur_a100 --dp 2 ranks.llt
try plan -c archive/vidur_a100 --batch 16 ranks.llt
try sim -c archive/vidur_a100 --memory ranks.llt
# Stages number their ops anew, and which is the slowest differs: one of 264 ops, one of 182.
leadline record --dry-run --train --batch 4 -p layers=5 -p hidden=256 -p heads=4 -p seq=128 -p vocabulary=50000 -o gpt.llt \
    gpt >/dev/null
try sim -c dgx_h100+pytorch -c archive/vidur_a100 --pp 2 --explain 200 gpt.llt
try sim -c archive/vidur_a100 -c dgx_h100+pytorch --pp 2 --explain 300 gpt.llt
leadline sim -c dgx_h100+pytorch -c archive/vidur_a100 --pp 2 --explain 20 gpt.llt | grep ^op
leadline sim -c dgx_h100+pytorch -c archive/vidur_a100 --pp 2 --explain 20 --json gpt.llt | grep '"stage"'
# A trace of which no weights are known.
printf '%s\n' source,hardware,op,dtype,dims,time_s,notes 'here,V100,relu,fp32,b=8;h=64,1e-5,' >relu.csv
leadline import csv relu.csv -o relu.llt >/dev/null 2>&1
try plan -c archive/vidur_a100 relu.llt
try plan -c archive/vidur_a100 --batch-was 7 relu.llt
try plan -c hgx_a100 --rank-by speed traces/alexnet_train_b8.llt
try plan -c hgx_a100 --rank-by goodput traces/alexnet_train_b8.llt
try plan -c hgx_a100 --rank-by goodput --mtbf 3h traces/alexnet_train_b8.llt
try plan -c hgx_a100 --restart 5min traces/alexnet_train_b8.llt
try plan -c hgx_a100 --command nemo traces/alexnet_train_b8.llt
try plan -c hgx_a100 --memory-margin 2 traces/alexnet_train_b8.llt
try plan -c hgx_a100 --devices 2 --batch 8 --whole-nodes traces/alexnet_train_b8.llt
try goodput --mtbf 3h --checkpoint 10s --spares 1
try plan -c hgx_a100 --train-tokens 1e12 --train-steps 10 traces/alexnet_train_b8.llt
try plan -c hgx_a100 --train-tokens 1e12 traces/alexnet_train_b8.llt
try sim -c archive/vidur_a100 --dp 2 --stragglers 2:1.5 traces/alexnet_train_b8.llt
try sim -c archive/vidur_a100 --slow-links 1:2 traces/alexnet_train_b8.llt
try sim -c archive/vidur_a100 --dp 2 --seed 4 traces/alexnet_train_b8.llt
