#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh INSTRUCTIONS COMPILER VERSION PROCESSOR [--bless]: counts the instructions of one operation of each subject
# of budget.txt with valgrind, and fails above 103 % of its budget. Below 90 % it asks for a lower budget; --bless
# writes what it counted into budget.txt. Status 77 without valgrind, and for another compiler than the table's.
set -u
export LC_ALL=C OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
# The C library has variants for newer processors: take those that every processor has.
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-AVX2_Usable,-AVX512F,-AVX512VL,-ERMS,-FSRM,-FMA,-FMA_Usable,-BMI1,-BMI2,-LZCNT
instructions=$1 table=$(dirname "$0")/budget.txt
here="$2 ${3%%.*} $4"
command -v valgrind >/dev/null || {
    echo "valgrind is not installed"
    exit 77
}
meant=$(sed -n 's/^compiler //p' "$table")
[ "$here" = "$meant" ] || {
    echo "the budgets are those of $meant, and this is $here"
    exit 77
}
tree=$(mktemp -d) && trap 'rm -rf "$tree"' EXIT

# count NAME TIMES: instructions of a whole run.
count() {
    valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null "$instructions" "$1" "$2" \
        >"$tree/log$2" 2>&1 || cat "$tree/log$2" >&2
    sed -n 's/.*I *refs: *//p' "$tree/log$2" | tr -d ,
}

"$instructions" >"$tree/subjects"
while read -r name operations; do
    count "$name" 1 >"$tree/once" &
    twice=$(count "$name" 2)
    wait
    echo "$name $operations $(cat "$tree/once") $twice"
done <"$tree/subjects" >"$tree/counts"

awk -v bless="${5-}" '
    NR == FNR {
        if (NF == 4 && $4 > $3)
            counted[$1] = ($4 - $3) / $2
        next
    }
    $2 ~ /^[0-9]/ && !($1 in counted) {
        printf "%s was not counted\n", $1 >"/dev/stderr"
        bad++
    }
    $1 in counted && $2 ~ /^[0-9]/ {
        now = counted[$1]
        seen[$1] = 1
        verdict = now > 1.03 * $2 ? "TOO MANY" : now < 0.9 * $2 ? "fewer: lower the budget (run.sh ... --bless)" : ""
        printf "%-16s %12.1f instructions, budget %12.1f, %5.1f %%, %5.1f %% of the first count  %s\n", $1, now, $2,
            100 * now / $2, 100 * now / $3, verdict >"/dev/stderr"
        bad += !bless && now > 1.03 * $2
        if (bless)
            $0 = sprintf("%-16s %12.1f %12.1f", $1, now, $3)
    }
    { print }
    END {
        for (name in counted)
            if (!(name in seen)) {
                printf "%s has no row in budget.txt; counted %.1f\n", name, counted[name] >"/dev/stderr"
                bad++
            }
        exit bad > 0
    }' "$tree/counts" "$table" >"$tree/table"
status=$?
[ "${5-}" = --bless ] && [ -s "$tree/table" ] && cp "$tree/table" "$table"
exit $status
