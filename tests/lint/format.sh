#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clang-format 14 has nothing to change. Another version would quarrel about details; then nothing is judged.
cd "$(dirname "$0")/../.." || exit 1
format=$(command -v clang-format-14 || command -v clang-format) || format=false
$format --version 2>/dev/null | grep -q 'version 14\.' || {
    echo "clang-format 14 is not installed"
    exit 77
}
# Lists and drawings in comments are laid out by hand, so it leaves comments alone; they keep its width, too.
files=$(find tracer models sim tests -name '*.[ch]' | sort)
# shellcheck disable=SC2086 # one word a file
awk '/^( \*|\/\*)/ && length > 110 { print FILENAME ":" FNR ": a comment of " length " columns, more than 110"; wide++ }
     END { exit wide > 0 }' $files && "$format" --dry-run -Werror $files
