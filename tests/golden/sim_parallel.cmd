# SPDX-License-Identifier: Apache-2.0
leadline sim -c archive/vidur_a100 --dp 16 --batch 128 traces/alexnet_train_b8.llt
leadline sim -c archive/vidur_a100 --dp 2 --pp 4 --micro-batch 2 --schedule gpipe --zero 1 traces/alexnet_train_b8.llt
leadline sim -c archive/vidur_a100 --dp 8 --tp 2 --json traces/alexnet_train_b8.llt | sed '/"config"/q'
leadline sim -c archive/vidur_a100 --dp 1 traces/alexnet_train_b8.llt | sed -n 3p
# Several of a device that is named alone are its system.
leadline sim -c a100_sxm_80gb+pytorch --dp 16 --batch 128 traces/alexnet_train_b8.llt | sed -n 2,3p
# One device of eight is drawn, and the links of two; the others wait for them.
leadline sim -c archive/vidur_a100 --dp 8 --stragglers 0.1:1.5 --slow-links 0.25:2 traces/alexnet_train_b8.llt | grep -A2 stragglers:
# The embedding and the loss are stages of their own; layers assigned by cost; stages on devices of two kinds.
leadline record gpt --dry-run --train --batch 1 -p layers=8 -p hidden=512 -p heads=8 -p seq=512 -p vocabulary=32000 -p dtype=bf16 -o gpt.llt >/dev/null
leadline sim -c dgx_a100 --dp 8 --pp 4 --batch 64 --micro-batch 1 --pipeline-model-parallel-layout 'E|t*4|t*4|L' gpt.llt | sed -n '/^  stage/,/^$/p'
leadline sim -c dgx_a100 --dp 8 --pp 4 --batch 64 --micro-batch 1 --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split gpt.llt | sed -n '/^  stage/,/^$/p'
leadline sim -c dgx_a100 --dp 8 --pp 4 --batch 64 --micro-batch 1 --pipeline-model-parallel-layout auto gpt.llt | sed -n '/^  stage/,/^$/p'
leadline sim -c dgx_h100,dgx_a100 --dp 8 --pp 4 --pool-stages 1,3 --batch 64 --micro-batch 1 gpt.llt | sed -n '/pools:/,/^$/p;/^  stage/,/^$/p'
leadline sim -c dgx_h100,dgx_a100 --dp 8 --pp 2 --batch 64 --micro-batch 1 --json gpt.llt | sed -n '/"pools"/,/]/p'
leadline sim -c archive/vidur_a100 --dp 2 --pp 4 --micro-batch 2 --stragglers 0.3:2 --seed 5 --json traces/alexnet_train_b8.llt | grep -A5 '"stragglers": {'
