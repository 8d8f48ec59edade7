#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --figure F.png and F.pdf: pictures of the size of the SVG, the same bytes each time; what cannot be written leaves
# nothing. formats.sh LEADLINE
set -eu
leadline=$1
here=$(mktemp -d) && trap 'rm -rf "$here"' EXIT
step=traces/alexnet_train_b8.llt

# draw FILE: the roofline of a step, and what is said.
draw() { "$leadline" sim -c t4 --figure "$1" $step >"$here/out" 2>"$here/said"; }
fail() { echo "$1" && exit 1; }
# number FILE OFFSET: four bytes, the highest first.
number() { od -An -tu1 -j "$2" -N 4 "$1" | awk '{ print $1 * 2^24 + $2 * 2^16 + $3 * 2^8 + $4 }'; }

draw "$here/a.svg"
if ! draw "$here/a.png"; then
    grep -q 'was built without librsvg, so it writes .svg alone; .*librsvg2-dev' "$here/said" || fail "$(cat "$here/said")"
    [ ! -e "$here/a.png" ] || fail "something is written"
    echo "this build has no librsvg" && exit 77
fi
width=$(sed -n 's/^<svg.* width="\([0-9]*\)".*/\1/p' "$here/a.svg")
height=$(sed -n 's/^<svg.* height="\([0-9]*\)".*/\1/p' "$here/a.svg")
[ "$(number "$here/a.png" 16) $(number "$here/a.png" 20)" = "$((2 * width)) $((2 * height))" ] ||
    fail "a.png is not twice as large as $width x $height"
draw "$here/a.pdf"
head -c 5 "$here/a.pdf" | grep -q '^%PDF-' || fail "a.pdf is no PDF"
cp "$here/a.png" "$here/kept.png" && cp "$here/a.pdf" "$here/kept.pdf"
draw "$here/a.png" && draw "$here/a.pdf"
cmp "$here/a.png" "$here/kept.png" && cmp "$here/a.pdf" "$here/kept.pdf"

# A file that cannot grow: one line, and what was there stays.
if (ulimit -f 8 && draw "$here/a.png"); then fail "a full disk is not seen"; fi
[ "$(wc -l <"$here/said")" = 1 ] || fail "$(cat "$here/said")"
cmp "$here/a.png" "$here/kept.png"
[ "$(find "$here" -name '*a.png*' | wc -l)" = 1 ] || fail "half a figure is left"
