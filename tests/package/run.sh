#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD COMPILER: installs the build below a temporary prefix, moves it, and uses it as a stranger would.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
tree=$(mktemp -d) && trap 'rm -rf "$tree"' EXIT
cmake --install "$1" --prefix "$tree/first" >/dev/null
mv "$tree/first" "$tree/moved"
unset LEADLINE_PATH
cd "$tree"

fail() {
    echo "$*"
    exit 1
}

moved/bin/leadline --version | grep -q '^leadline [0-9]' || fail "the installed program does not run"
moved/bin/leadline machines | grep -q custom_example || fail "the installed program does not find its machines"

# The tree may lie at /leadline, and "share/leadline" is no sign of that: look for its folders.
built="$root/\(build\|models\|sim\|tracer\)"
! grep -q "$built" moved/bin/leadline || fail "the installed program knows where it was built"
! grep -rq "$tree/first\|$built" moved/lib/pkgconfig || fail "leadline.pc knows where it was built"

PKG_CONFIG_PATH=$tree/moved/lib/pkgconfig
export PKG_CONFIG_PATH
compile="$2 -std=c11 -Wall -Wextra -Werror $(pkg-config --cflags leadline)"
# shellcheck disable=SC2046 # words are meant to be split
$compile "$here/use.c" -o use $(pkg-config --libs leadline)
find moved/include/leadline -name '*.h' >headers
while read -r header; do
    $compile -fsyntax-only "$header" || fail "$header does not compile alone"
done <headers

# 2 m n k = 2 * 3 * 7 * 5
[ "$(./use)" = 210 ] || fail "a program that uses the library says $(./use), expected 210"
