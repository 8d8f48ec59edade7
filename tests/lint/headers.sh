#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every file begins with its licence; every header guards itself by a name of its own and says what
# each public function, or the group without a blank line in which it stands, is for; what ends a lifetime is
# clear from its name.
# headers.sh [ROOT] looks at another tree.
cd "${1:-$(dirname "$0")/../..}" || exit 1
status=0
# Bad inputs of the tests are exempt: a licence would change what they show.
unlicensed=$(find . \( -path ./build -o -path ./.git -o -path ./tests/errors -o -path ./tests/fuzz/corpus \) -prune -o -type f \
    \( -name '*.[ch]' -o -name '*.def' -o -name '*.sh' -o -name '*.awk' -o -name '*.cmake' -o -name CMakeLists.txt \
    -o -name '*.yaml' -o -name '*.case' -o -name 'do' -o -path './.ci/*' \) -print | sort |
    xargs awk 'FNR == 1 { place = /^#!/ ? 2 : 1 }
               FNR == place && !/SPDX-License-Identifier: Apache-2.0/ {
                   print substr(FILENAME, 3) ":" FNR ": no line SPDX-License-Identifier: Apache-2.0" }')
[ -z "$unlicensed" ] || {
    echo "$unlicensed"
    status=1
}
find tracer models sim -name '*.h' | sort | xargs awk '
    function complain(what) {
        print FILENAME ":" FNR ": " what
        breaches++
    }
    FNR == 1 {
        end = toupper(FILENAME)
        sub(/.*\//, "", end)
        gsub(/[^A-Z0-9]/, "_", end)
        explained = guarded = 0
    }
    /^#ifndef/ && !guarded {
        guarded = 1
        if ($2 !~ "^LL_([A-Z0-9_]*_)?" end "$")
            complain("the guard is " $2 ", expected LL_..._" end)
        else if ($2 in guards)
            complain($2 " guards " guards[$2] " already")
        guards[$2] = FILENAME
    }
    /^$/ { explained = 0 }
    /\/\*/ && !/SPDX/ { explained = 1 }
    /^[a-z].*[ *]ll_[a-z0-9_]*\(/ && !/^typedef|_(release|free)\(/ && !explained { complain("no comment says what this function is for: " $0) }
    END { exit breaches > 0 }' /dev/null || status=1
exit $status
