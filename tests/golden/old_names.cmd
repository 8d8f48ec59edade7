# SPDX-License-Identifier: Apache-2.0
# Names of version 0.1 are read, with a message on standard error that names the new one; --json=0.1 has both keys.
exec 2>&1
leadline alike traces/alexnet_infer_b1.llt traces/alexnet_train_b8.llt
leadline similarity -c custom_example traces/alexnet_infer_b1.llt traces/alexnet_train_b8.llt | tail -2
leadline sim -c h100_sxm --products-as bf16 traces/alexnet_infer_b1.llt | head -1
leadline sim -c custom_example --memory --json traces/alexnet_train_b8.llt >new.json
leadline sim -c custom_example --memory --json=0.1 traces/alexnet_train_b8.llt >both.json
diff new.json both.json | grep -E '"(cures|cure|mitigations)"' | sort -u
leadline sim -c custom_example --json=0.3 traces/alexnet_train_b8.llt
printf '%s\n' 'base: h100_sxm' 'traces: [traces/alexnet_infer_b1.llt]' 'products: bf16' \
    'vary: {memory.l2.size: [40MiB, 50MiB]}' 'objectives: [min time_s]' >sweep.yaml
leadline sweep sweep.yaml -o sweep.db | sed 's/, [0-9.,]* points.s//'
leadline pareto sweep.db --csv --weights
