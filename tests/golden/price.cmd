# SPDX-License-Identifier: Apache-2.0
# What a design costs to make: in the report, for programs, and against time in a sweep.
cat >mine.yaml <<'END'
inherits: [custom_example, technology/price_n5, technology/price_hbm]
name: The same at 5 nm, with newer memory
END
leadline sim -c mine.yaml traces/alexnet_infer_b1.llt | tail -4
leadline sim -c mine.yaml --json traces/alexnet_infer_b1.llt | grep -A 8 price_usd
cat >sweep.yaml <<'END'
base: mine.yaml
traces: [traces/alexnet_infer_b1.llt]
vary:
  units.array.count: [1, 2, 4, 8]
  area.fixed_mm2: = 100 + 25 * units.array.count
  memory.hbm.size: [16GiB, 32GiB]
define: {samples_per_s_and_usd: throughput / price_usd}
constraints: [price_usd <= 1000]
objectives: [min time_s, min price_usd, max samples_per_s_and_usd]
END
leadline sweep sweep.yaml -o r.db 2>/dev/null >/dev/null
leadline pareto r.db --min time_s,price_usd
