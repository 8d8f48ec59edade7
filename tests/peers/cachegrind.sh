#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cachegrind.sh BUILD: D1 misses that Valgrind's cachegrind counts in real blocked products (products.def), beside
# ours for the same loops; within 1 %. A machine without valgrind cannot tell: status 77.
set -u
peers=$1/tests/peers
command -v valgrind >/dev/null || {
    echo "valgrind is not installed"
    exit 77
}
tree=$(mktemp -d) && trap 'rm -rf "$tree"' EXIT

# theirs NAME CACHE: "accesses misses" of data within the kernel's functions.
theirs() {
    valgrind --tool=cachegrind --cache-sim=yes --D1="$2" --cachegrind-out-file="$tree/out" \
        "$peers/blocked_product" "$1" >"$tree/log" 2>&1 || cat "$tree/log" >&2
    awk '/^events:/ { for (i = 2; i <= NF; i++) column[$i] = i }
         /^fn=/ { inside = /=(block_|multiply)/ }
         inside && /^[0-9]/ {
             accesses += $column["Dr"] + $column["Dw"]
             misses += $column["D1mr"] + $column["D1mw"]
         }
         END { print accesses + 0, misses + 0 }' "$tree/out"
}

"$peers/misses_of_product" >"$tree/ours"
while read -r name cache accesses misses; do
    echo "$name $cache $accesses $misses $(theirs "$name" "$cache")"
done <"$tree/ours" | awk '
    {
        off = $6 ? ($4 - $6) / $6 : 1
        printf "%-10s in %-13s %7d misses of %7d, cachegrind %7d of %7d: off by %.3f %%\n", $1, $2, $4, $3, $6, $5, 100 * off
        bad += off > 0.01 || off < -0.01
    }
    END { exit bad || NR == 0 }'
