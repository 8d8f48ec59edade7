# SPDX-License-Identifier: Apache-2.0
# A database without the points that others beat answers for what its sweep wanted; asked for something else, or for a part of
# the points, it says that the best may be missing.
cat >pruned.yaml <<'END'
base: custom_example
traces: [traces/alexnet_infer_b1.llt]
vary:
  units.array.rows: {from: 8, to: 256, times: 2}
  units.array.cols: {from: 8, to: 256, times: 2}
  memory.sram.size: {from: 128KiB, to: 16MiB, times: 2}
  memory.hbm.bandwidth: [50GB/s, 200GB/s, 800GB/s]
  units.array.clock: [500MHz, 1GHz]
objectives: [min time_s, min area_mm2]
search: {prune: true}
END
leadline sweep pruned.yaml --json | grep left_out
ask() {
    echo "pareto $*"
    leadline pareto pruned.db "$@" --csv | wc -l
}
exec 2>&1
ask
ask --min area_mm2
ask --min time_s,energy_j
ask --where "memory.sram.size >= 8MiB"
