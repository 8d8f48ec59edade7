#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A library of others is included by one file of ours. one_library.sh [ROOT] looks at another tree.
cd "${1:-$(dirname "$0")/../..}" || exit 1
status=0
for header in yaml zstd 'libelf|gelf' 'elfutils/[a-z]*' cblas sqlite3 mpi zlib dnnl librsvg/rsvg 'cairo[-a-z]*'; do
    files=$(grep -rlE --include='*.[ch]' "^ *# *include *[<\"]($header)\.h[>\"]" tracer models sim | sort)
    if [ "$(printf '%s\n' "$files" | grep -c .)" -gt 1 ]; then
        echo "$header.h is included by more than one file:" $files
        status=1
    fi
done
exit $status
