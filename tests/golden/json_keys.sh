#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# json_keys.sh BUILD: each key that a command writes with --json stands in sim/report/README.md, or in a table that it
# names. Names out of a trace or a machine are no keys, nor does the resolved machine (config) count.
set -u
PATH="$(cd "$1" && pwd)/sim/cli:$PATH"
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
tree=$(mktemp -d) && trap 'rm -rf "$tree"' EXIT
trace=traces/alexnet_train_b8.llt
{
    grep -o '[`"][a-zA-Z_]*[`"]' sim/report/README.md
    grep -o '[a-z_]*' sim/parallel/plan_keys.def sim/machine/dram_presets.def sim/explore/space.h
    for name in array simd sram hbm fixed fma tensor tensor_unaligned fma_batched l1 l2 hbm2e a b c weight gradient \
        activation optimizer workspace input schema leadline seed native; do echo "$name"; done
} | sed 's/.*://; s/[`"]//g' | sort -u >"$tree/described"
printf 'base: custom_example\ntraces: [%s]\nvary: {clock: [1GHz, 2GHz]}\nobjectives: [min time_s]\n' "$PWD/$trace" >"$tree/s.yaml"
leadline sweep "$tree/s.yaml" -o "$tree/s.db" >/dev/null || exit 1

status=0
check() {
    leadline "$@" --json >"$tree/json" || exit 1
    sed '/"config": {/,$d; s/^ *"\([a-zA-Z_]*\)": .*/\1/; t; d' "$tree/json" | sort -u | comm -23 - "$tree/described" >"$tree/missing"
    [ -s "$tree/missing" ] || return
    echo "leadline $*: described nowhere:" && cat "$tree/missing"
    status=1
}
check sim -c custom_example --per-op --what-if $trace
check sim -c custom_example --memory $trace
check sim -c archive/vidur_a100 --dp 8 --stragglers 0.1:2 --per-op $trace
leadline record gpt --dry-run --train -p layers=4 -o "$tree/gpt.llt" >/dev/null || exit 1
check sim -c dgx_h100,dgx_a100 --dp 8 --pp 2 --pipeline-model-parallel-layout 'Et*2|t*2L' "$tree/gpt.llt"
check sim -c custom_example --explain 3 $trace
check record alexnet --dry-run -o "$tree/a.llt"
check info $trace
check verify $trace
check plan -c archive/vidur_a100 --batch 8 --devices 2 $trace
check pareto "$tree/s.db"
check cache -c i7_6700k --op 29 $trace
check dram hbm2
check models alexnet
exit $status
