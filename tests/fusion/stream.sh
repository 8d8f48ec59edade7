#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# stream.sh LEADLINE WORKLOAD: on Stream's systems a step takes at most 1.1 times the cycles of Stream's own optimum, by a
# schedule that check_schedule.py finds nothing wrong with, and systems rank as Stream ranks them, but for one each.
# FuseMax's two_conv: Stream takes 27 cycles for each in which its array multiplies. Meta's swiglu: the tiles that Stream
# is given, of 16 rows, bring all weights 16 times over a bus that is as wide as that of Simba's four chiplets; with
# tiles of one's own choice the one with twice the multipliers is first. With rows of 16 at a time (rows16) all rank as
# in Stream, where a tie is what differs by less than a hundredth. 77 without Python.
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
    two_conv,* | swiglu,*quad)
        python3 tests/fusion/check_schedule.py "$here/tiles.json" "$here/w.jsonl" || status=1
        ;;
    esac
done
# ranked WORKLOAD: what of ours is not in Stream's order, each at most a hundredth more than the next.
ranked() {
    grep ",$1," tests/peers/stream_reference.csv | sort -t , -k 3 -n | cut -d , -f 1 | while read -r system; do
        sed -n "s/^$system //p" "$here/ours"
    done | awk '$1 * 1.01 < before { print "a system is out of its rank" } { before = $1 }'
}
case $workload in
two_conv) sed -i /^fusemax/d "$here/ours" ;;
swiglu) sed -i /^meta/d "$here/ours" ;;
esac
[ "$workload" = rows16 ] && workload=swiglu
[ -z "$(ranked "$workload")" ] || { ranked "$workload" && status=1; }
exit $status
