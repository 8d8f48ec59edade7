#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pages.sh BUILD: every `leadline` line in a fenced block of the pages for users runs as printed, page by page in a folder of
# its own: with traces/ and examples/ of the tree, with what earlier blocks of the page made, and with its yaml blocks whose
# first line is a comment that names a file. What stands behind the command in the same block is the beginning of what
# it prints, numbers aside; `...` ends it. A block behind `<!-- not run: REASON -->` is left out; there are ten at most.
set -u
build=$(cd "$1" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d) && trap 'rm -rf "$tree"' EXIT
export PATH="$build/sim/cli:$PATH" COLUMNS=120 NO_COLOR=1 LC_ALL=C
status=0 ran=0
pages='README.md docs/*.md examples/README.md traces/README.md'
cd "$root" || exit 1
# shellcheck disable=SC2086 # names are meant to be found
not_run=$(cat $pages | grep -c '^<!-- not run: ..*-->$')
[ "$not_run" -le 10 ] || { echo "$not_run blocks are not run, more than ten" && status=1; }

# Numbers, and bars made of them, differ from machine to machine.
words() {
    sed 's/[0-9][0-9.,]*/N/g; s/\[[#-]*\]//g; s/ \(us\|ms\|s\|ns\)\>/ T/g; s/  */ /g; s/ *$//'
}

# run PAGE LINE COMMAND EXPECTED: the command succeeds, and what it prints begins as the page says.
run() {
    ran=$((ran + 1))
    if ! sh -c "$3" >out 2>err </dev/null; then
        echo "$1:$2: $3" && cat err
        status=1
    fi
    sed '/^ *\.\.\.$/,$d; /^$/d' "$4" | words >expected_words
    grep -v '^$' out | words | head -n "$(wc -l <expected_words)" | diff expected_words - >differs && return
    echo "$1:$2: $3 prints" && cat differs
    status=1
}

for page in $pages; do
    mkdir -p "$tree/here" && cd "$tree/here" && ln -s "$root/traces" "$root/examples" . || exit 1
    # Blocks become files: N.yaml files by their names, N.cmd a command with its line, N.txt what stands behind it.
    awk '
        function close_command() { if (command) { close(text); command = 0 } }
        /^```/ { if (inside) { close_command(); inside = 0; if (file) close(file); file = "" }
                 else { inside = 1; kind = substr($0, 4); skip = last ~ /^<!-- not run: / } last = ""; next }
        !inside { if ($0 != "") last = $0; next }
        skip { next }
        kind == "yaml" { if (/^# [a-z_]*\.yaml$/) file = $2; else if (file) print >file; next }
        /^(\$ )?leadline / { close_command(); sub(/^\$ /, ""); command = ++count; text = sprintf(".%03d.txt", count)
                            printf "" >text; print NR " " $0 >".commands"; next }
        command { print >text }' "$root/$page"
    number=0
    [ -f .commands ] && while read -r line command; do
        number=$((number + 1))
        run "$page" "$line" "$command" "$(printf '.%03d.txt' "$number")"
    done <.commands
    cd "$root" && rm -rf "$tree/here"
done
# What the pages call `./do` for, it does.
# shellcheck disable=SC2086
cat $pages CONTRIBUTING.md | sed -n 's/.*\.\/do \([a-z]*\).*/\1/p' | sort -u >"$tree/words"
while read -r word; do
    grep -q "^$word)" ./do || { echo "the pages say ./do $word, which it does not know" && status=1; }
done <"$tree/words"
echo "$ran commands, $not_run blocks not run"
exit $status
