# SPDX-License-Identifier: Apache-2.0
# A sweep tells at its end why points are not valid, the commonest reason first.
cat >some.yaml <<'END'
base: custom_example
models: [gemm]
vary: {units.array.rows: [8, 16, 32], memory.hbm.size: [1KiB, 1MiB, 1GiB], plan.tp: [1, 3]}
objectives: [min time_s]
END
leadline sweep some.yaml | sed 's/, [0-9.,]* points\/s//'
leadline sweep some.yaml --fresh --json | grep -v time_s
# What is known to be impossible of one workload is told before another is replayed (which would be refused for its type).
cat >two.yaml <<'END'
base: custom_example
traces: [traces/alexnet_infer_b1.llt]
models: [gemm]
dtype: f64
vary: {plan.tp: [3]}
objectives: [min time_s]
END
leadline sweep two.yaml | sed 's/, [0-9.,]* points\/s//'
