#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How well would a device have been predicted that nobody had measured? newcomers/ describes measured devices anew,
# each by its datasheet and what a relative taught; this prints their errors beside those of hwconfigs, and fails
# where those of a family of ops, left out, are more than MOST says, or where there are none of that family.
#   [MOST="gemm=20 conv=30"] left_out.sh LEADLINE DATA.csv...
set -eu
leadline=$1
shift
here=$(dirname "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Hardware, family, points and mean error in percent, by tabs, a line each.
errors() {
    "$leadline" validate --json "$@" | awk -F '": "?|"?,?$' '
        /^  "machines"/ { exit }
        /^      "/ { of[substr($1, 8)] = $2 }
        /^      "mape"/ { printf "%s\t%s\t%d\t%.1f\n", of["hardware"], of["family"], of["points"], 100 * $2 }'
}

errors "$@" > "$folder/seen"
errors "$@" --machines "$here/newcomers" > "$folder/left_out"
awk -F '\t' -v limits="${MOST:-}" '
    function row(hardware, family, points, seen, left_out) {
        printf "%-24s %-12s %6d  %6.1f %%  %6.1f %%\n", hardware, family, points, seen, left_out
    }
    BEGIN {
        printf "%-24s %-12s %6s  %8s  %8s\n", "hardware", "family", "points", "measured", "left out"
        for (i = split(limits, limit, " "); i > 0; i--)
            most[substr(limit[i], 1, index(limit[i], "=") - 1)] = substr(limit[i], index(limit[i], "=") + 1)
    }
    FNR == NR { seen[$1, $2] = $4; points[$1, $2] = $3; next }
    $3 == points[$1, $2] {
        row($1, $2, $3, seen[$1, $2], $4)
        if (!($2 in count))
            families[++kinds] = $2
        count[$2] += $3
        before[$2] += $3 * seen[$1, $2]
        after[$2] += $3 * $4
    }
    END {
        for (i = 1; i <= kinds; i++) {
            family = families[i]
            row("all", family, count[family], before[family] / count[family], after[family] / count[family])
            worse = worse || (family in most && after[family] / count[family] > most[family] + 0)
        }
        for (family in most)
            if (!(family in count)) {
                print "no measurement of " family ", for which there is a limit" > "/dev/stderr"
                worse = 1
            }
        exit worse || kinds == 0
    }' "$folder/seen" "$folder/left_out"
