#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The table of docs/accuracy.md, made by the commands that stand in it, between its two marks.
#   accuracy.sh LEADLINE           compares it with what the program finds
#   accuracy.sh --bless LEADLINE   writes it
# Rows of a group stand by their error on what was not seen, the largest first; bold: a roofline fitted to half of
# the rows is better. What others publish is in `peers` below: figures of their own rows, with the source.
set -eu
bless=false
[ "$1" = --bless ] && bless=true && shift
leadline=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
page=$root/docs/accuracy.md
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Family, published error in percent, whose.
cat >"$folder/peers" <<'END'
ops	gemm	13.9	NeuSight
ops	bmm	13.8	NeuSight
ops	elementwise	19.3	NeuSight
ops	softmax	13.9	NeuSight
ops	norm	56.7	NeuSight
servers	allreduce	46.3	LLMCompass
steps	end_to_end_training	3.7	Calculon
pytorch	end_to_end	9.4	NeuSight
pytorch	end_to_end_training	10.4	NeuSight
END

# What a validation says, a line each: key, family, points, value; sums over all hardware.
tell() {
    awk -F '": "?|"?,?$' '
        /^  "/ { section = $1; sub(/^  "/, "", section) }
        /^    "/ { part = $1; sub(/^    "/, "", part) }
        section == "machines" && /^      "family"/ { family = $2 }
        section == "machines" && /^      "points"/ { count = $2 }
        section == "machines" && /^      "mape"/ { points[family] += count; sum[family] += count * $2 }
        /^        "family"/ { family = $2 }
        section == "fitted" && part == "families" && /^        "fitted_mape"/ { print "fitted\t" family "\t0\t" 100 * $2 }
        section == "held_out" && part == "families" && /^        "unseen_mape"/ { print "unseen\t" family "\t0\t" 100 * $2 }
        END { for (family in points) print "seen\t" family "\t" points[family] "\t" 100 * sum[family] / points[family] }'
}

# group NAME TITLE SEEN DEVICES: the rows of a group, by the commands after `leadline validate`; DEVICES may be -.
group() {
    # shellcheck disable=SC2086 # the words of a command
    (cd "$root" && "$leadline" validate $3 --json) | tell >"$folder/seen"
    : >"$folder/devices"
    # shellcheck disable=SC2086
    [ "$4" = - ] || (cd "$root" && "$leadline" validate $4 --json) 2>/dev/null | tell | grep '^seen' >"$folder/devices"
    echo
    echo "**$2**: \`leadline validate $3\`$([ "$4" = - ] || echo "; unseen devices: \`leadline validate $4\`")"
    echo
    echo '| family | rows | seen | unseen shapes | unseen devices | fitted roofline | best published |'
    echo '|---|---|---|---|---|---|---|'
    awk -F '\t' -v group="$1" -v steps="$5" '
        function cell(value, beaten) { return value == "" ? "-" : sprintf(beaten ? "**%.1f %%**" : "%.1f %%", value) }
        FILENAME ~ /peers$/ { if ($1 == group) peer[$2] = $3 " % (" $4 ")"; next }
        FILENAME ~ /devices$/ { devices[$2] = $4; next }
        $1 == "seen" { seen[$2] = $4; points[$2] = $3 }
        $1 == "fitted" { fitted[$2] = $4 }
        $1 == "unseen" { unseen[$2] = $4 }
        END {
            for (family in points) {
                if ((family ~ /^end_to_end/) != (steps == "steps") && steps != "both")
                    continue
                worst = seen[family]
                if (family in unseen && unseen[family] > worst) worst = unseen[family]
                if (family in devices && devices[family] > worst) worst = devices[family]
                roof = fitted[family]
                printf "%09.4f\t| %s | %d | %s | %s | %s | %s | %s |\n", worst, family, points[family],
                    cell(seen[family], roof != "" && seen[family] > roof),
                    cell(unseen[family], roof != "" && unseen[family] > roof),
                    cell(devices[family], roof != "" && devices[family] > roof), cell(roof, 0),
                    family in peer ? peer[family] : "-"
            }
        }' "$folder/peers" "$folder/devices" "$folder/seen" | sort -r | cut -f 2
}

{
    group servers 'Kernels of vLLM, SGLang and TensorRT-LLM on A100, H100 and B200, of AITER on MI300X' \
        'tests/validation/measured_served.csv --held-out shapes --fitted' - both
    group pytorch 'PyTorch 2.11 on an H100, with the host and without; unseen devices: two H200' \
        'tests/validation/measured_h100.csv --held-out shapes --fitted' \
        'tests/validation/measured_h200.csv tests/validation/measured_h200_again.csv' both
    group ops 'Libraries of 2015 to 2022 on eighteen GPUs and a TPU' \
        'tests/validation/measured.csv --held-out shapes --fitted' \
        'tests/validation/measured.csv --machines tests/validation/newcomers' ops
    group steps 'Training steps of language models on 2 to 512 GPUs; unseen devices: NeMo on H100' \
        'tests/validation/measured.csv --fitted' 'tests/validation/published.csv' steps
} >"$folder/table"

awk -v table="$folder/table" '
    /^<!-- accuracy.sh: end -->$/ { inside = 0 }
    !inside { print }
    /^<!-- accuracy.sh: begin -->$/ { inside = 1; while ((getline line < table) > 0) print line; print "" }' \
    "$page" >"$folder/page"
if $bless; then cp "$folder/page" "$page"; else diff -u "$page" "$folder/page"; fi
