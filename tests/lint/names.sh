#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A name means one thing: no public type (ll_...) is defined in two places of the tree.
# names.sh [ROOT] looks at another tree.
cd "${1:-$(dirname "$0")/../..}" || exit 1
find tracer models sim -name '*.[ch]' | sort | xargs awk '
    /^(struct|union|enum) ll_[a-z0-9_]+ \{/ {
        if ($2 in places) {
            print FILENAME ":" FNR ": " $1 " " $2 " is defined at " places[$2] " already"
            breaches++
        }
        places[$2] = FILENAME ":" FNR
    }
    END { exit breaches > 0 }' /dev/null
