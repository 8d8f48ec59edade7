#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bits.sh COMPILER: a compiler for 32 bits is refused by CMake, in a sentence. It need not be able to link.
set -eu
tree=$(mktemp -d) && trap 'rm -rf "$tree"' EXIT
echo 'int here;' >"$tree/here.c"
"$1" -m32 -c "$tree/here.c" -o "$tree/here.o" 2>"$tree/err" || { echo "the compiler knows no -m32" && exit 77; }
! cmake -S . -B "$tree/build" -G Ninja -DCMAKE_C_COMPILER="$1" -DCMAKE_C_FLAGS=-m32 \
    -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY >"$tree/out" 2>"$tree/err" || { echo "32 bits were not refused" && exit 1; }
tr -s ' \n' ' ' <"$tree/err" | grep -q 'needs a 64-bit machine, and this compiler builds for 32 bits' ||
    { cat "$tree/err" && exit 1; }
