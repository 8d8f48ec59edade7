# SPDX-License-Identifier: Apache-2.0
# An element-wise op and a product through three caches, beside the formula; the product for another level, with a
# prefetcher; a part of it for programs.
leadline cache -c i7_6700k --op 3 traces/alexnet_infer_b1.llt
leadline cache -c i7_6700k --op 28 traces/alexnet_infer_b1.llt
leadline cache -c i7_6700k --op 28 --level l1 --set memory.l2.cache.prefetch=stride traces/alexnet_infer_b1.llt
leadline cache -c i7_6700k --op 28 --most 100000 --json traces/alexnet_infer_b1.llt
