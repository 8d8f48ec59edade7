#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cachegrind.sh BUILD: data misses that Valgrind's cachegrind counts in two levels for real blocked products
# (products.def), beside ours for the same loops; within 1 %. A machine without valgrind cannot tell: status 77.
set -u
peers=$1/tests/peers
command -v valgrind >/dev/null || {
    echo "valgrind is not installed"
    exit 77
}
tree=$(mktemp -d) && trap 'rm -rf "$tree"' EXIT

# theirs NAME D1 LL: "accesses D1-misses LL-misses" of data within the kernel's functions.
theirs() {
    valgrind --tool=cachegrind --cache-sim=yes --D1="$2" --LL="$3" --cachegrind-out-file="$tree/out" \
        "$peers/blocked_product" "$1" >"$tree/log" 2>&1 || cat "$tree/log" >&2
    awk '/^events:/ { for (i = 2; i <= NF; i++) column[$i] = i }
         /^fn=/ { inside = /=(block_|multiply)/ }
         inside && /^[0-9]/ {
             accesses += $column["Dr"] + $column["Dw"]
             d1 += $column["D1mr"] + $column["D1mw"]
             ll += $column["DLmr"] + $column["DLmw"]
         }
         END { print accesses + 0, d1 + 0, ll + 0 }' "$tree/out"
}

"$peers/misses_of_product" >"$tree/ours"
while read -r name d1 ll ours; do
    echo "$name $d1 $ll $ours $(theirs "$name" "$d1" "$ll")"
done <"$tree/ours" | awk '
    function compare(which, cache, ours, theirs,    off) {
        off = theirs ? (ours - theirs) / theirs : 1
        printf "%-10s %s %-13s %7d misses, cachegrind %7d, off by %.3f %%\n", $1, which, cache, ours, theirs, 100 * off
        bad += off > 0.01 || off < -0.01
    }
    {
        compare("D1", $2, $5, $8)
        compare("LL", $3, $6, $9)
    }
    END { exit bad || NR == 0 }'
