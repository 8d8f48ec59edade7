#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A check that was never seen failing is no check: each of them is shown a small tree full of breaches and
# must name every one.
lint=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d) && trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/tracer/base" "$tree/models/nn" "$tree/sim/cost" "$tree/sim/new_room" "$tree/tests" && cd "$tree" || exit 1
status=0

# breach FILE: its text comes from standard input, after the licence.
breach() {
    { echo '/* SPDX-License-Identifier: Apache-2.0 */' && cat; } >"$1"
}

# finds CHECK TEXT...: the check fails and its output holds each text.
finds() {
    check=$1
    shift
    if found=$("$lint/$check.sh" "$tree" 2>&1); then
        echo "$check.sh found nothing"
        status=1
    fi
    for text in "$@"; do
        case $found in
        *"$text"*) ;;
        *)
            printf '%s.sh did not find: %s\n' "$check" "$text"
            status=1
            ;;
        esac
    done
}

echo '#include "../tracer/base/num.h"' | breach models/nn/climbs.c
echo '#include "sim/cost/cost.h"' | breach models/nn/across.c
echo '#include "models/nn/nn.h"' | breach tracer/base/upwards.h
echo '#include "num.h"' | breach sim/new_room/a.c
finds layers 'models/nn/climbs.c:2: "../tracer/base/num.h" climbs' 'models/nn may not include sim/cost' \
    'tracer/base may not include models/nn' 'sim/new_room/a.c:2: this folder has no row'

echo '#include <zstd.h>' | breach tracer/one.c
echo '#include <zstd.h>' | breach sim/cost/two.c
finds one_library 'sim/cost/two.c tracer/one.c'

printf '%s\n' 'int f(char *a) { return atoi(a); }' 'void g(void) { /* no */ exit(1); }' 'void h(void) { printf("x"); }' |
    breach sim/cost/banned.c
echo 'int f(const char *a) { return strcmp(a, "TPU") == 0; }' | breach sim/cost/product.c
echo 'const char *f(void) { return "exit(1)"; /* atoi(x) */ }' | breach sim/cost/innocent.c
finds banned 'banned.c:2:' 'banned.c:3:' 'banned.c:4:' 'product.c:2:'
case $found in *innocent*) echo "banned.sh looks into texts and comments" && status=1 ;; esac

{ echo 'int f(void)' && echo '{' && seq -f '    /* %g */' 90 && echo '}'; } | breach sim/cost/long_function.c
seq -f 'int a%g;' 1000 | breach sim/cost/long_file.c
finds sizes 'long_function.c:3: a function of 90 lines' 'long_file.c: 1001 lines'

echo 'int x;' >sim/cost/unlicensed.c
printf '%s\n' '#ifndef WRONG' 'int ll_unexplained(void);' '' '/* Here is why. */' 'int ll_explained(void);' |
    breach sim/cost/header.h
finds headers 'sim/cost/unlicensed.c:1:' 'header.h:2: the guard is WRONG' 'int ll_unexplained(void)'
case $found in *ll_explained*) echo "headers.sh does not see comments" && status=1 ;; esac

echo 'struct ll_twice { int a; };' | breach sim/cost/first.h
echo 'enum ll_twice { LL_TWICE };' | breach tracer/base/second.h
finds names 'tracer/base/second.h:2: enum ll_twice is defined at sim/cost/first.h:2 already'

printf '%s\n' 'int ll_si(int a); /* starting costs */' 'const char *f(void) { return "%s: no matrix product"; }' |
    breach sim/new_room/terms.c
echo 'A trained product.' >README.md
finds terms 'sim/new_room/terms.c:2:int ll_si' 'sim/new_room/terms.c:2: starting costs' 'sim/new_room/terms.c:3:' 'README.md:1:'

printf '%s\n' '/* TODO */' '/* a stub */' 'const char *a = "/home/me/data.txt";' | breach sim/cost/words.c
finds words 'words.c:2:' 'words.c:3:' 'words.c:4:'
exit $status
