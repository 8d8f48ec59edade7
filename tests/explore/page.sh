#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The sweep file that sim/explore/README.md shows is one that the program takes, with some valid points:
# page.sh LEADLINE
set -eu
leadline=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$(mktemp -d) && trap 'rm -rf "$here"' EXIT
cd "$here"
"$leadline" record alexnet --dry-run -o alexnet.llt >/dev/null
sed -n '/^```yaml/,/^```/{/^```/!p;}' "$root/sim/explore/README.md" >page.yaml
"$leadline" sweep page.yaml --dry-run --json >told
valid=$(sed -n 's/.*"valid": \([0-9]*\).*/\1/p' told)
[ "$valid" -gt 0 ] || { echo "no valid point" && cat told && exit 1; }
