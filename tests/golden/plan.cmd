# SPDX-License-Identifier: Apache-2.0
leadline plan -c hgx_a100 --batch 256 --simulate 4 traces/alexnet_train_b8.llt
leadline plan -c archive/vidur_a100 --set network.cards.devices=8 --devices 61 --batch 256 traces/alexnet_train_b8.llt
leadline plan -c hgx_a100 --devices 1 --batch 256 --set memory.hbm2e.size=64MiB traces/alexnet_train_b8.llt
# A step of a trace that does not say its batch, on sixteen devices.
printf '%s\n' source,hardware,op,dtype,dims,time_s,notes 'here,V100,gemm,fp32,m=8;n=64;k=32,1e-5,' >gemm.csv
leadline import csv gemm.csv -o gemm.llt >/dev/null 2>&1
leadline plan -c archive/vidur_a100 --batch-was 8 gemm.llt | head -1
# A training of weeks: what failures and checkpoints leave of it, and how frameworks are told of the fastest plan.
leadline plan -c hgx_a100 --devices 8 --batch 8 --simulate 2 --rank-by goodput --device-mtbf 1000h --checkpoint-bandwidth 0.1 --spares 1 --repair 24h --memory-margin 0.2 --whole-nodes --command torchtitan traces/alexnet_train_b8.llt
leadline plan -c hgx_a100 --devices 2 --batch 8 --simulate 1 --command megatron traces/alexnet_train_b8.llt | tail -3
leadline plan -c hgx_a100 --devices 2 --batch 8 --simulate 1 --command deepspeed traces/alexnet_train_b8.llt | tail -5
# A training of 90,000 steps: days, and what its devices cost; of a language model by its tokens.
leadline plan -c hgx_a100 --devices 4 --batch 64 --simulate 1 --train-steps 90000 traces/alexnet_train_b8.llt | sed -n 3,4p
leadline record gpt --dry-run --train -p layers=1 -o gpt.llt >/dev/null 2>&1
leadline plan -c hgx_a100 --devices 2 --batch 16 --simulate 1 --train-tokens 3e11 --set price.purchase_usd=20000 --set price.lifetime_years=4 --set price.usd_per_kwh=0.1 --pue 1.5 --carbon 100 gpt.llt --json 2>/dev/null | grep -m 7 '"step_s\|samples_per_s\|energy_j\|run_s\|_per_run'
# A model of bfloat16, whose gradients Megatron-LM adds up in 32 bits unless it is told otherwise.
leadline record llm -p config=tiny --dry-run --train -o tiny.llt >/dev/null 2>&1
leadline plan -c hgx_a100 --devices 2 --batch 8 --simulate 1 --command megatron tiny.llt 2>/dev/null | tail -3
# Keys that all plans hold, or one of whose values they do; layers as Megatron-LM lays them out.
printf '%s\n' 'pp: 2' 'schedule: [1f1b, gpipe]' 'pipeline_model_parallel_layout: [none, auto]' 'zero: 1' >keys.yaml
leadline plan -c hgx_a100 --devices 4 --batch 16 --simulate 4 --plan keys.yaml tiny.llt 2>/dev/null
leadline plan -c hgx_a100 --devices 2 --batch 8 --simulate 1 --pp 2 --schedule 1f1b --pipeline-model-parallel-layout auto --command megatron tiny.llt 2>/dev/null | tail -5
leadline plan -c hgx_a100 --devices 2 --batch 8 --simulate 2 --tp 2 --sequence-parallel --tp-overlap --low-precision none,tensorwise --grads-in-fp32 --command megatron tiny.llt 2>/dev/null
leadline plan -c dgx_h100,dgx_a100 --devices 16 --batch 32 --simulate 2 --train-steps 1000 tiny.llt 2>/dev/null
leadline plan -c hgx_a100 --devices 2 --batch 8 --simulate 1 --command deepspeed tiny.llt 2>/dev/null | tail -5
