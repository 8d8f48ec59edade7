#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# machines.sh [FORMAT FOLDER]: how many files below FOLDER that describe a machine of zigzag (hardware, systems of Stream),
# timeloop (architectures) or astra-sim (networks) are imported whole, in part, or refused, with the keys that were left out
# most and the reasons of refusals; each that is imported must be one that Leadline reads, and simulates a GEMM. Without
# arguments, what Leadline exports of its own machines, of which all must be imported. LL_REFUSED=FILE keeps what was said.
set -u
leadline=${LEADLINE-$(dirname "$0")/../../build/release/sim/cli/leadline}
[ -x "$leadline" ] || { echo "there is no $leadline" && exit 77; }
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
status=0
"$leadline" record gemm --dry-run -p m=4 -p n=4 -p k=4 -o "$work/gemm.llt" >/dev/null 2>&1 ||
    "$leadline" record gemm --dry-run -o "$work/gemm.llt" >/dev/null || exit 1

# Keys that no result of a simulation depends on: a machine without them is whole.
plain='area|unit_area|multiplier_area|latency|mem_type|version|core_coordinates|operand_precision|n_banks|nports|num_ports|n_rw_ports|n_rdwr_ports|mapper|compound_components|components|multiplier_width|adder_width|update_fifo_depth|scheduling-policy|boost-mode|trace-enabled|datawidth|width'

# describes FORMAT FILE: whether it is such a machine. A core without elements is a part of one.
describes() {
    case $1 in
    zigzag) ! grep -qE 'sizes: \[0' "$2" && grep -qE '^(memories|cores):' "$2" && grep -qE '^(operational_array|multipliers|cores):' "$2" ;;
    timeloop) grep -qE '^ *architecture:|^arch:' "$2" ;;
    astra-sim) grep -qE '^ *"?(topology|topologies-per-dim)"?:' "$2" && grep -qE 'npus_count|units-count' "$2" ;;
    esac
}

# try FORMAT FILE: one line a file: whole, part KEYS or refused REASON.
try() {
    device=
    [ "$1" = astra-sim ] && device='--device h100_sxm'
    # shellcheck disable=SC2086 # an option and its value, or nothing
    if ! "$leadline" machines --import "$1" $device "$2" -o "$work/m.yaml" --json >"$work/left" 2>"$work/said"; then
        echo "refused $(grep -v ': note: ' "$work/said" | head -n 1 | sed 's/^[^ ]*: //')"
    elif ! "$leadline" sim -c "$work/m.yaml" --as int8 "$work/gemm.llt" >/dev/null 2>"$work/said"; then
        echo "refused as a machine: $(head -n 1 "$work/said")"
    else
        keys=$(sed -n '/"left_out"/,/"assumed"/s/^ *"key": "\(.*\)",$/\1/p' "$work/left" | sed 's/.*\.//' |
            grep -vxE "$plain" | sort -u | tr '\n' ' ')
        [ -z "$keys" ] && echo whole || echo "part $keys"
    fi
}

# count FORMAT: what try said of all files, on standard input.
count() {
    awk -v format="$1" '
        { n++; kind[$1]++ }
        $1 == "part" { for (i = 2; i <= NF; i++) keys[$i]++ }
        $1 == "refused" { sub(/^refused /, ""); gsub(/`[^`]*`/, "`...`"); why[$0]++ }
        END {
            printf "%s: %d files, %d imported whole, %d in part, %d refused\n", format, n, kind["whole"], kind["part"], kind["refused"]
            for (k in keys) printf "  left out of %d: %s\n", keys[k], k | "sort -t\" \" -k5,5nr"
            close("sort -t\" \" -k5,5nr")
            for (k in why) printf "  refused %d: %s\n", why[k], k
        }'
}

if [ $# -eq 2 ]; then
    find "$2" -type f \( -name '*.yaml' -o -name '*.yml' -o -name '*.json' \) | sort | while read -r file; do
        describes "$1" "$file" && try "$1" "$file" | sed "s|\$| |" | tee -a "$work/all" >/dev/null
        [ -s "$work/all" ] && tail -n 1 "$work/all" | grep -q '^refused' && echo "$file: $(tail -n 1 "$work/all")" >>"$work/refused"
        :
    done
    [ -s "$work/all" ] || { echo "$2: no file describes a machine of $1" && exit 77; }
    [ -z "${LL_REFUSED-}" ] || { [ -f "$work/refused" ] && cp "$work/refused" "$LL_REFUSED"; }
    count "$1" <"$work/all"
    exit
fi

# own FORMAT MACHINE...: all of them come back.
own() {
    format=$1 && shift
    for machine; do
        "$leadline" machines --export "$format" "$machine" -o "$work/own.yaml" >/dev/null || status=1
        try "$format" "$work/own.yaml"
    done >"$work/all"
    count "$format" <"$work/all"
    grep -q '^refused' "$work/all" && status=1
}
own zigzag zigzag_gemm_l1 zigzag_gemm_l1_l3
own timeloop timeloop_conv1d_1level timeloop_conv1d_2level timeloop_conv1d_3level_spatial
own astra-sim dgx_h100 tpu_v4_pod
exit $status
