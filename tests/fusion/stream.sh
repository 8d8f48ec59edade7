#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# stream.sh LEADLINE WORKLOAD: on Stream's systems a step takes at most 1.1 times the cycles of Stream's own optimum, by a
# schedule that check_schedule.py finds nothing wrong with, and systems rank as Stream ranks them, but for two. FuseMax's
# two_conv: Stream's tiles there fill 922 of 65,536 elements, one after another; ours fill thousands. Meta's swiglu: the
# tiles that Stream is given, of 16 rows, bring all weights 16 times over a bus that is as wide as that of Simba's four
# chiplets; with tiles of one's own choice the one with twice the multipliers is first. 77 without Python.
set -eu
command -v python3 >/dev/null || { echo "no python3" && exit 77; }
here=$(mktemp -d) && trap 'rm -rf "$here"' EXIT
leadline=$1 workload=$2
python3 tests/fusion/networks.py "$here"
"$leadline" import onnx "$here/$workload.onnx" -o "$here/w.llt" >/dev/null
"$leadline" dump "$here/w.llt" >"$here/w.jsonl"
status=0
for file in hwconfigs/accelerators/stream_*.yaml; do
    system=$(basename "$file" .yaml)
    "$leadline" sim -c "$file" --json --tiles "$here/tiles.json" "$here/w.llt" >"$here/out.json"
    cycles=$(sed -n 's/^      "time_s": //p' "$here/out.json" | tr -d , | awk '{ printf "%.0f\n", $1 * 1e9 }')
    echo "${system#stream_} $cycles" >>"$here/ours"
    theirs=$(sed -n "s/^${system#stream_},$workload,//p" tests/peers/stream_reference.csv)
    echo "$system: $cycles cycles, Stream ${theirs:-unknown}"
    [ -z "$theirs" ] || [ $((cycles * 10)) -le $((theirs * 11)) ] || { echo "slower than Stream" && status=1; }
    case $workload,$system in
    two_conv,* | swiglu,*tpu_quad)
        python3 tests/fusion/check_schedule.py "$here/tiles.json" "$here/w.jsonl" || status=1
        ;;
    esac
done
[ "$workload" = two_conv ] && beside=fusemax || beside=meta_dual
sort -k 2 -n "$here/ours" | cut -d ' ' -f 1 | grep -v $beside >"$here/rank"
grep ",$workload," tests/peers/stream_reference.csv | grep -v $beside | sort -t , -k 3 -n | cut -d , -f 1 >"$here/theirs"
grep -Fxf "$here/theirs" "$here/rank" | diff - "$here/theirs" || status=1
exit $status
