#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# readme.sh [--bless] BUILD: what README.md shows of simulations of alexnet.llt, gpt3.llt and llama.llt is what the program
# prints. A dry recording of alexnet has the same ops as the native one on the page. With --bless README.md is rewritten.
set -u
bless=false
[ "$1" = --bless ] && bless=true && shift
build=$(cd "$1" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d) && trap 'rm -rf "$tree"' EXIT
PATH="$build/sim/cli:$PATH"
cd "$tree" && leadline record alexnet --dry-run --train --batch 8 --steps 3 -o alexnet.llt >/dev/null || exit 1

# The page, with the lines below each such command replaced by what it prints now. A transcript ends where the
# next command or a paragraph begins.
refreshed() {
    inside=false
    while IFS= read -r line; do
        command=${line#*\$ }
        while [ "${line%\\}" != "$line" ] && IFS= read -r rest; do
            command=${command%\\}$rest
            line=$(printf '%s\n%s' "$line" "$rest")
        done
        case $line in
        '' | '    '[!$]*) $inside && continue ;;
        esac
        $inside && echo
        inside=false
        printf '%s\n' "$line"
        case $command in
        'leadline sim '*' alexnet.llt' | 'leadline '*gpt3.llt* | 'leadline '*llama.llt*)
            inside=true
            env -i PATH="$PATH" COLUMNS=120 LC_ALL=C sh -c "$command" | sed 's/^./    &/'
            ;;
        esac
    done <"$root/README.md"
}

refreshed >new.md
if $bless; then cp new.md "$root/README.md"; else diff -u "$root/README.md" new.md; fi
