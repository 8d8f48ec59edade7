# SPDX-License-Identifier: Apache-2.0
leadline record --dry-run --train --batch 1 -p preset=llama3-8b -p layers=4 -p seq=16384 -p dtype=bf16 -p fused=1 \
    -o llama.llt llama >/dev/null
leadline sim -c archive/vidur_a100 --cp 2 --tp 4 --dp 2 --zero 1 llama.llt
leadline sim -c archive/vidur_a100 --cp 4 --zero 3 llama.llt | grep exposed
for cp in 1 2 4; do leadline sim -c archive/vidur_a100 --cp $cp llama.llt | sed -n '5p;10p;13p'; done
