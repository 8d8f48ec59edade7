#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How well each machine is predicted on the data of this folder, for `leadline machines`: hwconfigs/validated.csv.
#   validated.sh LEADLINE           compares that file with what the program finds
#   validated.sh --bless LEADLINE   writes it
set -eu
bless=false
[ "$1" = --bless ] && bless=true && shift
leadline=$1
here=$(cd "$(dirname "$0")" && pwd)
table=$here/../../hwconfigs/validated.csv
found=$(mktemp)
trap 'rm -f "$found"' EXIT
{
    echo machine,points,mape
    "$leadline" validate --json "$here"/*.csv | awk -F '": "?|"?,?$' '
        /^  "machines"/ { inside = 1 }
        /^  "overall"/ { inside = 0 }
        inside && /^      "machine"/ { machine = $2 }
        inside && /^      "points"/ { count = $2 }
        inside && /^      "mape"/ { points[machine] += count; sum[machine] += count * $2 }
        END { for (machine in points) printf "%s,%d,%.4f\n", machine, points[machine], sum[machine] / points[machine] }' |
        LC_ALL=C sort
} >"$found"
if $bless; then cp "$found" "$table"; else diff -u "$table" "$found"; fi
