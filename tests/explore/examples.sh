#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The examples run, on a few of their points, and their figures and pages can be drawn: examples.sh LEADLINE
set -eu
here=$(mktemp -d) && trap 'rm -rf "$here"' EXIT

# try FILE SEARCH: so many points by this search, some of them valid.
try() {
    { cat "examples/$1.yaml" && echo "search: {$2, seed: 1}"; } >"$here/$1.yaml"
    "$leadline" sweep "$here/$1.yaml" -o "$here/$1.db" --json >"$here/told"
    valid=$(sed -n 's/.*"valid": \([0-9]*\).*/\1/p' "$here/told")
    [ "$valid" -gt 0 ] || { echo "$1: no valid point" && exit 1; }
    "$leadline" pareto "$here/$1.db" >"$here/$1.txt"
    for figure in front heat parallel sensitivity; do
        "$leadline" pareto "$here/$1.db" --figure "$here/$figure.svg" --kind $figure
        python3 tests/figures/labels.py "$here/$figure.svg"
        tail -1 "$here/$figure.svg" | grep -q '</svg>' || { echo "$1: no $figure" && exit 1; }
    done
    "$leadline" pareto "$here/$1.db" --html "$here/$1.html"
    grep -q '<script type="application/octet-stream" id="data">' "$here/$1.html" || { echo "$1: no page" && exit 1; }
    echo "$1: $valid valid points"
}

leadline=$1
try resnet_5ms "kind: evolve, points: 400"
try lstm_bandwidth "kind: latin, points: 20"
try unroll "kind: random, points: 6"
grep -q 'whichever suits a layer' "$here/unroll.txt"
try serving_bandwidth "kind: random, points: 4"
try word_lm_week "kind: random, points: 12"
grep -q 'best of min devices' "$here/word_lm_week.txt"
