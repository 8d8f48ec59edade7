#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# attention.sh LEADLINE: attention layer by layer, fused as FLAT does and as FuseMax does, against the times that FuseMax's
# authors published, within 2 % once operations of an element are counted alike: a softmax has five here, where they have
# four on lanes, and on the array nine with what corrects sums. 77 without Python.
set -eu
command -v python3 >/dev/null || { echo "no python3" && exit 77; }
here=$(mktemp -d) && trap 'rm -rf "$here"' EXIT
leadline=$1 status=0

# seconds MACHINE FUSE: of a step of all heads, of which so many are simulated.
seconds() {
    "$leadline" sim -c "$1" --fuse "$2" --json --tiles "$here/tiles.json" "$here/w.llt" |
        sed -n 's/^      "time_s": //p' | tr -d , | awk -v times="$times" '{ print $1 * times }'
}
# value CONFIGURATION COLUMN
value() {
    grep "^$1,$model," tests/peers/fusemax_reference.csv | cut -d , -f "$2"
}
# near WHAT OURS PUBLISHED AS_COUNTED_HERE
near() {
    awk -v ours="$2" -v theirs="$3" -v counted="$4" -v what="$model $1" 'BEGIN {
        printf "%s: %.4g s, published %.4g s, as counted here %.4g s\n", what, ours, theirs, counted
        exit ours > counted * 1.02 || ours < counted * 0.98 }' || status=1
}
while read -r model heads tokens width times; do
    python3 tests/fusion/networks.py "$here" "$heads" "$tokens" "$width"
    "$leadline" import onnx "$here/attention.onnx" -o "$here/w.llt" >/dev/null 2>&1
    flat=$(value attn-flat 5) apart=$(value attn-unfused 5) binding=$(value attn-binding 5) share=$(value attn-binding 6)
    near "layer by layer" "$(seconds flat none)" "$apart" "$(echo "$apart $flat" | awk '{ print $1 + $2 / 4 }')"
    near "FLAT" "$(seconds flat auto)" "$flat" "$(echo "$flat" | awk '{ print $1 * 5 / 4 }')"
    "$leadline" dump "$here/w.llt" >"$here/w.jsonl"
    python3 tests/fusion/check_schedule.py "$here/tiles.json" "$here/w.jsonl" || status=1
    near "FuseMax" "$(seconds fusemax auto)" "$binding" \
        "$(echo "$binding $share $width" | awk '{ print $1 * $2 * (2 * $3 + 5) / (2 * $3 + 9) }')"
done <<'END'
BERT,1K 64 1024 64 12
BERT,4K 8 4096 64 96
XLM,1K 64 1024 128 16
END
exit $status
