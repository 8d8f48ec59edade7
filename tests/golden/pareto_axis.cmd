# SPDX-License-Identifier: Apache-2.0
# An objective that is an axis is one column of the CSV.
cat >rows.yaml <<'END'
base: custom_example
models: [gemm]
vary: {units.array.rows: [8, 16, 32]}
objectives: [min time_s, min units.array.rows]
END
leadline sweep rows.yaml >/dev/null
leadline pareto rows.db --csv | cut -d, -f1-4
leadline pareto rows.db --csv | head -1 | tr , '\n' | sort | uniq -d
