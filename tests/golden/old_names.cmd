# SPDX-License-Identifier: Apache-2.0
# Names of version 0.1 are read on and named anew, once each; common names are aliases without a word.
leadline record mixture --dry-run --infer --batch 1 -p layers=1 -p hidden=64 -p heads=4 -p key_heads=2 -p inner=64 \
    -p choices=2 -p vocabulary=40 -p letters=9 -p pass=decode -p words=2 -p context=8 -o old.llt
leadline record moe --dry-run --infer --batch 1 -p layers=1 -p hidden=64 -p heads=4 -p kv_heads=2 -p ffn_hidden=64 \
    -p top_k=2 -p vocabulary=40 -p task_vocabulary=9 -p pass=decode -p tokens=2 -p context=8 -o new.llt
cmp old.llt new.llt && echo the same
for name in resnet34 vae dqn; do leadline models $name | sed -n 2p | cut -c 1-20; done
leadline sim -c t4 --roofline roof.svg --footprint memory.svg traces/alexnet_infer_b1.llt 2>&1 >page | sed 's/^/said: /'
leadline sim -c t4 --figure now.svg --kind roofline --figure too.svg --kind memory traces/alexnet_infer_b1.llt >page
cmp roof.svg now.svg && cmp memory.svg too.svg && echo the same figures
