# SPDX-License-Identifier: Apache-2.0
. ./try.sh
try cache traces/alexnet_infer_b1.llt
try cache -c i7_6700k traces/alexnet_infer_b1.llt
try cache -c i7_6700k --op 21 traces/alexnet_infer_b1.llt
try cache -c i7_6700k --op 999 traces/alexnet_infer_b1.llt
try cache -c i7_6700k --op 3 --level l4 traces/alexnet_infer_b1.llt
try cache -c i7_6700k --op 3 --most 0 traces/alexnet_infer_b1.llt
try cache -c custom_example --op 3 traces/alexnet_infer_b1.llt
try cache -c i7_6700k --op 3 --set memory.l1.cache.policy=mru traces/alexnet_infer_b1.llt
try cache -c i7_6700k --op 3 --accesses traces/alexnet_infer_b1.llt traces/alexnet_infer_b1.llt
try cache -c i7_6700k --op 3 --accesses nowhere/asked.txt traces/alexnet_infer_b1.llt
try cache -c i7_6700k --op 3 --accesses /dev/full traces/alexnet_infer_b1.llt
