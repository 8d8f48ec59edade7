# SPDX-License-Identifier: Apache-2.0
. ./try.sh
cat >plan.yaml <<'END'
dp: 16
tq: 4
zero: 4
schedule: 2f2b
END
try sim -c a100_dgx --plan plan.yaml traces/alexnet_train_b8.llt
try sim -c a100_dgx --plan no_such.yaml traces/alexnet_train_b8.llt
try sim -c a100_dgx --dp many traces/alexnet_train_b8.llt
try sim -c a100_dgx --dp 64 traces/alexnet_train_b8.llt
try sim -c a100_dgx --dp 3 --batch 16 --ep 2 traces/alexnet_train_b8.llt
try sim -c a100_dgx --dp 2 --micro-batch 3 traces/alexnet_train_b8.llt
try sim -c v100_sxm2_16gb --dp 2 traces/alexnet_train_b8.llt
try sim -c a100_dgx --pp 16 traces/alexnet_train_b8.llt
try plan traces/alexnet_train_b8.llt
try plan -c a100_dgx --devices 64 traces/alexnet_train_b8.llt
try sim -c a100_dgx --tp 5 traces/alexnet_train_b8.llt
