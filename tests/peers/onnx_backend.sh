#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# onnx_backend.sh [FOLDER]: how many of the standard's node tests, FOLDER/*/model.onnx, are imported: at least 95 of 100
# that have no strings and none of ai.onnx.ml. Without a FOLDER, of those that an installed onnx package makes; without
# either status 77. LL_REFUSED=FILE keeps what was said about each that is not.
set -u
leadline=${LEADLINE-$(dirname "$0")/../../build/release/sim/cli/leadline}
[ -x "$leadline" ] || { echo "there is no $leadline" && exit 77; }
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
if [ $# -gt 0 ]; then
    folder=$1
else
    folder=$work/node
    for python in python3 /usr/bin/python3 ''; do
        [ -n "$python" ] || { echo "there is no folder of models, and no onnx package to make them" && exit 77; }
        "$python" -c 'import onnx, numpy' 2>/dev/null && break
    done
    "$python" "$(dirname "$0")/onnx_backend.py" "$folder" >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
fi
count=0 imported=0
for model in "$folder"/*/model.onnx; do
    [ -e "$model" ] || { echo "$folder: no model.onnx in a folder of it" && exit 77; }
    count=$((count + 1))
    if "$leadline" import onnx "$model" -o "$work/trace.llt" >/dev/null 2>"$work/log"; then
        imported=$((imported + 1))
    else
        name=${model%/model.onnx}
        printf '%s: %s\n' "${name##*/}" "$(grep -v ': note: ' "$work/log" | head -n 1 | sed "s,^[^ ]*model.onnx: ,,")"
    fi
done >"$work/refused"
[ -z "${LL_REFUSED-}" ] || cp "$work/refused" "$LL_REFUSED"
texts=$(grep -ciE 'ai\.onnx\.ml|string|RegexFullMatch|TfIdfVectorizer|ImageDecoder' "$work/refused")
plain=$((count - texts))
echo "$imported of $count models are imported; $texts others are of strings or ai.onnx.ml, $((plain - imported)) are refused"
[ $((imported * 100)) -ge $((plain * 95)) ] || { head -n 40 "$work/refused" && exit 1; }
for python in python3 /usr/bin/python3; do
    "$python" -c 'import onnx, numpy' 2>/dev/null || continue
    "$python" "$(dirname "$0")/onnx_flops.py" "$leadline" "$folder"
    exit
done
