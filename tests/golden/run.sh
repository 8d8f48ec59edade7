#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [--bless] BUILD FILE.cmd...: runs each command file as a shell script in an empty folder that holds
# copies of its neighbours (tests/errors keeps bad inputs there) and the traces/ of the tree, and compares
#   FILE.out   standard output      FILE.err   standard error      FILE.status   exit status
# exactly. A file that is missing stands for nothing printed, and for status 0.
# With --bless the files are rewritten instead: then read the diff, and say in the commit what moved and why.
set -u
bless=false
[ "$1" = --bless ] && bless=true && shift
build=$(cd "$1" && pwd) && shift || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d) && trap 'rm -rf "$tree"' EXIT
status=0

# keep GOT FILE: FILE becomes what was got; nothing is kept of nothing.
keep() {
    if [ -s "$1" ]; then cp "$1" "$2"; else rm -f "$2"; fi
}

# same GOT FILE: shows how what was got differs from FILE.
same() {
    [ -f "$2" ] || set -- "$1" /dev/null
    diff -u --label "expected: $2" --label got "$2" "$1" || status=1
}

for command in "$@"; do
    [ -f "$command" ] || { echo "$command: no such file" && status=1 && continue; }
    base=${command%.cmd}
    mkdir "$tree/here"
    cp -R "$(dirname "$command")"/. "$tree/here"
    ln -s "$root/traces" "$tree/here/traces"
    (cd "$tree/here" && env -i PATH="$build/sim/cli:$PATH" HOME="$tree" COLUMNS=120 NO_COLOR=1 LC_ALL=C TERM=dumb \
        sh "$(basename "$command")" >"$tree/out" 2>"$tree/err" </dev/null)
    got=$?
    if [ $got = 0 ]; then : >"$tree/status"; else echo $got >"$tree/status"; fi
    for part in out err status; do
        if $bless; then keep "$tree/$part" "$base.$part"; else same "$tree/$part" "$base.$part"; fi
    done
    rm -rf "$tree/here"
done
exit $status
