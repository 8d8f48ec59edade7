#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Functions that have no place here, or only in one. banned.sh [ROOT] looks at another tree.
lint=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$lint/../..}" || exit 1
code=$(find tracer models sim -name '*.[ch]' | sort | xargs awk -f "$lint/code.awk" /dev/null)
status=0

# breach PATTERN EXCEPT WHY: no code outside the files of EXCEPT matches PATTERN.
breach() {
    found=$(printf '%s\n' "$code" | grep -vE "^($2)" | grep -E "^[^:]*:[0-9]+:(.*[^a-zA-Z0-9_])?($1)")
    [ -z "$found" ] && return
    printf '%s\n  ^ %s\n' "$found" "$3"
    status=1
}

breach '(strcpy|strncpy|strcat|strncat|sprintf|vsprintf|gets|strtok) *\(' none/ 'no bound, or a false one: use ll_str or ll_format'
breach '(atoi|atol|atof|atoll) *\(' none/ 'hides errors: use strtoull, strtod or a reader of ours'
breach '(strtod|strtof|strtold|vsnprintf|asprintf|vasprintf) *\(' 'tracer/base/str.c:|models/' 'goes by the locale of the program: use tracer/base/str.h'
breach '(localtime|gmtime|setlocale|ctime|asctime) *\(' none/ 'results know neither time of day nor place'
breach '(rand|srand|random|drand48|rand_r) *\(' none/ 'results repeat: draw from a seeded generator of ours'
breach '(exit|_exit|quick_exit|abort) *\(' '(sim/cli/record_program|tracer/interpose/(probe/probe|preload/wrappers)).c:' 'nothing ends the program but a child that did not become another, and what stands for _exit itself'
breach '(printf|vprintf|fprintf|vfprintf|puts|putchar|perror|err|errx|warn|warnx) *\(' sim/cli/ 'only sim/cli prints'
breach '(std(out|err))[^a-zA-Z0-9_]' sim/cli/ 'only sim/cli prints'

# No product is known to the simulator: its rooms compare no text (but that of plans, and names of layers), hence neither a name nor
# a kind.
code=$(printf '%s\n' "$code" | grep -E '^sim/(cost|memory|network|parallel|replay)/')
breach '(strn?(case)?cmp|strstr|fnmatch|regexec) *\(' 'sim/parallel/(plan|twins).c:' 'a machine that needs an `if` lacks a key in its description'
breach 'machine(->|\.)(kind|name|stem)[^a-zA-Z0-9_]' none/ 'costs depend on quantities, never on which device it is'
exit $status
