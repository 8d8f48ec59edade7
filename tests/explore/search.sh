#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A search with a twentieth of the evaluations finds nearly all of the front of a grid: search.sh LEADLINE VOLUME
set -eu
space=$(dirname "$0")/arrays.yaml
here=$(mktemp -d) && trap 'rm -rf "$here"' EXIT
"$1" sweep "$space" -o "$here/grid.db"
for kind in evolve refine; do
    for seed in 1 2 3; do
        { cat "$space" && echo "search: {kind: $kind, points: 2500, seed: $seed}"; } >"$here/$kind$seed.yaml"
        "$1" sweep "$here/$kind$seed.yaml" -o "$here/$kind$seed.db" >/dev/null
        printf '%s, seed %s: ' "$kind" "$seed"
        "$2" "$here/grid.db" "$here/$kind$seed.db"
    done
done
