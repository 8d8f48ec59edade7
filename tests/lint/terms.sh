#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The field's words: no retired word of terms.txt stands where its row says, and the main pages have no GEMM under
# another name. terms.sh [ROOT] looks at another tree.
lint=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$lint/../..}" || exit 1
tree=$(mktemp -d) && trap 'rm -rf "$tree"' EXIT
status=0

sources=$(find tracer models sim -name '*.c' -o -name '*.h' -o -name '*.def' | sort)
pages=$(find . -name '*.md' -not -path './build/*' -not -path './.*' | sed 's|^\./||' | sort)
# shellcheck disable=SC2086 # one word a file
{
    for part in code strings comments; do awk -v part=$part -f "$lint/code.awk" $sources /dev/null >"$tree/$part"; done
    grep -n '' $pages /dev/null >>"$tree/strings"
    find hwconfigs examples -name '*.yaml' -exec grep -n '' {} + >"$tree/keys" 2>/dev/null
}
# Names of version 0.1 may stand where they are read and explained, and in the list of changes; and folders may be open.
printf '^%s\n' 'sim/cli/old_names\.def:' 'sim/cli/terms\.def:' 'CHANGELOG\.md:' >"$tree/not_held"
sed -n 's/^open[[:space:]]*/^/p' "$lint/terms.txt" >>"$tree/not_held"
for part in code strings comments keys; do
    grep -v -f "$tree/not_held" "$tree/$part" >"$tree/held"
    mv "$tree/held" "$tree/$part"
done

# Patterns are for the lines, not for the names of their files.
for part in code strings comments keys; do cut -d: -f3- "$tree/$part" >"$tree/$part.texts"; done

tab=$(printf '\t')
while IFS="$tab" read -r places pattern instead; do
    case $places in '' | '#'* | open) continue ;; esac
    for place in $(echo "$places" | tr ',' ' '); do
        case $place in
        text) file='strings' ;;
        name) file=code ;;
        comment) file=comments ;;
        key) file=keys ;;
        *) echo "terms.txt: $place is no place" && status=1 && continue ;;
        esac
        found=$(grep -nE -- "$pattern" "$tree/$file.texts" | sed 's/:.*//' |
            awk 'NR == FNR { at[$1]; next } FNR in at' - "$tree/$file")
        [ -z "$found" ] && continue
        printf '%s\n  ^ write %s\n' "$found" "$instead"
        status=1
    done
done <"$lint/terms.txt"

for page in README.md docs/*.md hwconfigs/README.md; do
    echo "$page:" | grep -qf "$tree/not_held" && continue
    if [ -f "$page" ] && grep -niE product "$page" /dev/null | grep -vE '`(published_)?products`'; then
        echo "  ^ write GEMM, matrix multiplication, device"
        status=1
    fi
done
exit $status
