#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Words that mark unfinished work, and paths or hosts that exist on one machine only.
# words.sh [ROOT] looks at another tree.
cd "${1:-$(dirname "$0")/../..}" || exit 1
status=0

# never PATTERN WHY FOLDERS...: no line below these folders matches.
never() {
    pattern=$1 why=$2
    shift 2
    found=$(grep -rnIwE --exclude-dir=lint --exclude-dir=corpus -- "$pattern" "$@" 2>/dev/null)
    [ -z "$found" ] && return
    printf '%s\n  ^ %s\n' "$found" "$why"
    status=1
}

product="tracer models sim cmake CMakeLists.txt do .ci"
never 'TODO|FIXME|XXX|HACK|WIP' 'unfinished work: finish it, or write OPEN: with the choice to be made' $product tests
never '[Ss]tubs?|[Pp]laceholders?|[Dd]ummy|not implemented|NOT IMPLEMENTED' 'a thing is there or it is not' $product
never '/(work|root|tmp|usr/local|home/[a-z]+)/[a-zA-Z0-9_./-]*' 'a path of one machine' $product hwconfigs
never '[a-z.]*debian\.(org|net)|mirror\.[a-z.]+' 'a host that packages come from is the business of the machine' \
    $product tests hwconfigs README.md
exit $status
