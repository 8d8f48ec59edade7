#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page of 100,000 designs, opened and used in a browser: page.sh TEST_SWEEP_PAGE. 77 where there is none.
set -eu
command -v python3 >/dev/null || { echo "there is no python3" && exit 77; }
here=$(mktemp -d) && trap 'rm -rf "$here"' EXIT
LL_PAGE=$here/page.html "$1" >/dev/null 2>&1
[ -s "$here/page.html" ]
python3 "$(dirname "$0")/browse.py" "$here/page.html"
