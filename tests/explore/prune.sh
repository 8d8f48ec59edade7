#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Leaving out what known points beat never changes a front: prune.sh LEADLINE
set -eu
here=$(mktemp -d) && trap 'rm -rf "$here"' EXIT

# compare NAME OBJECTIVES MODELS: with and without, in several orders.
compare() {
    cat >"$here/space.yaml" <<END
name: $1
base: custom_example
models: $3
vary:
  units.array.rows: {from: 8, to: 256, times: 2}
  units.array.cols: {from: 8, to: 256, times: 2}
  memory.sram.size: {from: 128KiB, to: 16MiB, times: 2}
  memory.hbm.bandwidth: [50GB/s, 200GB/s, 800GB/s]
  units.array.clock: [500MHz, 1GHz]
constraints: [area_mm2 <= 60]
objectives: $2
END
    "$leadline" sweep "$here/space.yaml" -o "$here/all.db" --fresh >/dev/null
    "$leadline" pareto "$here/all.db" --csv >"$here/all.csv"
    for search in "kind: grid" "kind: random, points: 1728, seed: 1" "kind: random, points: 1728, seed: 2"; do
        { cat "$here/space.yaml" && echo "search: {$search, prune: true}"; } >"$here/prune.yaml"
        "$leadline" sweep "$here/prune.yaml" -o "$here/prune.db" --fresh --json >"$here/told"
        "$leadline" pareto "$here/prune.db" --csv >"$here/prune.csv"
        cmp "$here/all.csv" "$here/prune.csv" || { echo "$1, $search: another front" && exit 1; }
        left=$(sed -n 's/.*"left_out": \([0-9]*\).*/\1/p' "$here/told")
        echo "$1, $search: $left of 1728 left out, $(($(wc -l <"$here/all.csv") - 1)) on the front"
        [ "$left" -gt 0 ] || { echo "nothing was left out" && exit 1; }
    done
}

leadline=$1
compare "inference" "[min time_s, min area_mm2]" "[{name: alexnet, mode: infer, batch: 1}]"
compare "training, three objectives" "[min time_s, min area_mm2, min energy_j]" "[{name: alexnet, mode: train, batch: 4}]"
compare "two workloads" "[min edp, min area_mm2]" \
    "[{name: alexnet, mode: infer, batch: 2}, {name: seq2seq, mode: infer, batch: 2}]"
