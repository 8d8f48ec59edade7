# SPDX-License-Identifier: Apache-2.0
# An element-wise op and a product through three caches, beside the formula; the product for another level, with a
# prefetcher; for all of a level; a part of it for programs; what memory is asked, as a file; a memory that is slower;
# operands that pass by a level go through its cache all the same, which is said.
leadline cache -c i7_6700k --op 3 traces/alexnet_infer_b1.llt
leadline cache -c i7_6700k --op 28 traces/alexnet_infer_b1.llt
leadline cache -c i7_6700k --op 28 --level l1 --set memory.l2.cache.prefetch=stride traces/alexnet_infer_b1.llt
leadline cache -c i7_6700k --op 28 --set memory.l3.double_buffer=false traces/alexnet_infer_b1.llt | grep blocked
leadline cache -c i7_6700k --op 28 --most 100000 --json traces/alexnet_infer_b1.llt
leadline cache -c i7_6700k --op 3 --accesses asked.txt traces/alexnet_infer_b1.llt | tail -2
wc -l < asked.txt
sed -n '1p;2p;3p;$p' asked.txt
leadline cache -c i7_6700k --op 3 --set memory.dram.channels=1 traces/alexnet_infer_b1.llt | tail -2
leadline cache -c i7_6700k --op 3 --set 'memory.l2.holds=[input]' traces/alexnet_infer_b1.llt | tail -4
