# SPDX-License-Identifier: Apache-2.0
# How fast a sweep was differs; what is known at its second run, and the front, do not.
cat >arrays.yaml <<'END'
name: arrays
base: custom_example
traces: [traces/alexnet_infer_b1.llt]
vary:
  units.array.rows: [16, 32, 64, 128]
  units.array.cols: = units.array.rows
  memory.sram.size: {from: 1MiB, to: 64MiB, times: 4}
  memory.hbm: {HBM2: {bandwidth: 900GB/s}, DDR4: {bandwidth: 50GB/s, size: 64GiB}}
define: {cost: 0.12 * area_mm2 + memory.hbm.size / 8GiB}
constraints: [area_mm2 <= 50, memory.fits]
objectives: [min time_s, min energy_j, min cost]
END
leadline sweep arrays.yaml >/dev/null
leadline sweep arrays.yaml
leadline pareto arrays.db
echo
leadline pareto arrays.db --min time_s --max throughput_per_w --where "energy_j <= 1 and units.array.rows > 16" --csv
echo
leadline sweep arrays.yaml --shard 1/2 >/dev/null
SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=2 leadline sweep arrays.yaml --shard auto >/dev/null
leadline merge arrays.1of2.db arrays.2of2.db -o both.db
leadline pareto both.db --json | head -20
leadline pareto both.db >both.txt
leadline pareto arrays.db | diff - both.txt && echo the same front
echo "empty lines in JSON:"
leadline pareto both.db --json | grep -c '^$'
leadline sweep arrays.yaml --json | grep -c '^$'
leadline sweep arrays.yaml --dry-run --json | grep -c '^$'
leadline merge both.db -o again.db --json | grep -c '^$'
true
