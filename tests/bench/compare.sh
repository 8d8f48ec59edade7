#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# compare.sh BEFORE AFTER: two outputs of `./do bench`, the ratio of each line. Nothing is judged: a threshold
# on a shared machine would cry wolf.
awk '
    !/ ns/ { next }
    {
        name = $0
        sub(/ +[0-9.]+ ns.*/, "", name)
        match($0, /[0-9.]+ ns/)
        ns = substr($0, RSTART, RLENGTH) + 0
    }
    NR == FNR { before[name] = ns; next }
    name in before { printf "%-40s %12.2f -> %12.2f ns   %.2fx\n", name, before[name], ns, ns / before[name] }
' "$1" "$2"
