# SPDX-License-Identifier: Apache-2.0
# Exchanges on a ring, a torus, nodes with few cards, through all levels at once and one after the other, and within
# a node, and as samples tell: how latencies and bytes make up the time.
A=traces/alexnet_train_b8.llt
leadline sim -c custom_example --dp 2 --explain 46 $A
leadline sim -c tpu_v3 --dp 4 --zero 1 --explain 46 $A
leadline sim -c archive/vidur_a100 --dp 16 --zero 1 --explain 46 $A
leadline sim -c archive/vidur_a100 --set software.collectives=hierarchical --dp 16 --explain 46 $A
leadline sim -c archive/vidur_a100 --tp 2 --explain 12 $A
leadline sim -c custom_example --set 'network.link.samples=[{devices: 2, latency: 5us, bandwidth: 40GB/s}]' --dp 2 --explain 46 $A
# A switch that adds up.
leadline record allreduce --dry-run -p bytes=67108864 -o sum.llt >/dev/null 2>&1
leadline sim -c archive/vidur_h100+pytorch --explain 0 sum.llt
# A product beside an exchange that keeps some of the units busy.
leadline sim -c hgx_a100 --dp 8 --batch 64 --explain 49 $A
