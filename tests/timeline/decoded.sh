#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# decoded.sh LEADLINE [--bless]: protoc decodes a small timeline to decoded.txt, and a larger one without a field that
# perfetto.proto lacks. With --bless the text is written anew: then read the difference. 77 without protoc.
set -eu
leadline=$1 bless=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
command -v protoc >/dev/null || { echo "protoc (protobuf-compiler) is not installed" && exit 77; }
tree=$(mktemp -d) && trap 'rm -rf "$tree"' EXIT

decode() { protoc --decode=leadline.test.Trace -I "$here" perfetto.proto; }

"$leadline" record conv2d --dry-run -p b=1 -o "$tree/conv2d.llt" >/dev/null
"$leadline" export timeline "$tree/conv2d.llt" -c v100_sxm_16gb+pytorch -p format=pftrace | decode >"$tree/decoded.txt"
[ "$bless" != --bless ] || cp "$tree/decoded.txt" "$here/decoded.txt"
diff -u "$here/decoded.txt" "$tree/decoded.txt"

"$leadline" export timeline "$here/../../traces/alexnet_train_b8.llt" -c i7_6700k -o "$tree/large.pftrace"
decode <"$tree/large.pftrace" >"$tree/large.txt"
if grep -qE '^ *[0-9]+[:{ ]' "$tree/large.txt"; then
    echo "fields that perfetto.proto does not have:" && grep -nE '^ *[0-9]+[:{ ]' "$tree/large.txt" | head -3 && exit 1
fi
[ "$(grep -c TYPE_SLICE_BEGIN "$tree/large.txt")" = "$(grep -c TYPE_SLICE_END "$tree/large.txt")" ]
