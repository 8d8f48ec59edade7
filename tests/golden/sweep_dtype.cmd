# SPDX-License-Identifier: Apache-2.0
# A machine of integers: what a sweep finds for it is what --as does.
printf '%s\n' 'base: gemmini_like' "traces: [$PWD/traces/alexnet_infer_b1.llt]" 'dtype: int8' \
    'vary: {units.array.rows: [16, 32]}' 'objectives: [min time_s]' >sweep.yaml
leadline sweep sweep.yaml -o s.db >/dev/null 2>&1
leadline pareto s.db --csv | cut -d, -f1-3
leadline sim -c gemmini_like --as int8 --set units.array.rows=32 --json traces/alexnet_infer_b1.llt | grep time_s | head -1
sed -i s/int8/bf16/ sweep.yaml
leadline sweep sweep.yaml -o s.db 2>&1
sed -i s/bf16/int7/ sweep.yaml
leadline sweep sweep.yaml -o s.db 2>&1
