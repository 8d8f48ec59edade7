# SPDX-License-Identifier: Apache-2.0
# Memory over time: the size of the memory is a line where it matters, and is told in any case.
A=traces/alexnet_train_b8.llt
leadline sim -c a100_sxm_80gb --figure large.svg --kind memory $A >/dev/null
grep -o '>[^<]*</text>' large.svg
leadline sim -c gtx_960 --figure small.svg --kind memory $A >/dev/null
grep -o '>[^<]*</text>' small.svg
# Of a plan the fullest stage is drawn, with what its other passes hold on top: it reaches the peak in the title.
leadline sim -c custom_example --pp 4 --batch 64 --micro-batch 8 --figure stage.svg --kind memory $A >/dev/null
grep -o '>[^<]*</text>' stage.svg
# A legend shows what its curves look like: a piece of each, in its dashes.
grep -c '<polygon' stage.svg
