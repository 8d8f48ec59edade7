#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hardened.sh BUILD COMPILER CONFIGURATION: every program and library of ours, in the build tree and where it is installed, is
# position independent, has its tables read-only once it is loaded, binds all names then, has no executable stack, and
# watches its stack and the sizes of what it copies.
set -eu
build=$1 configuration=$3
tree=$(mktemp -d) && trap 'rm -rf "$tree"' EXIT
command -v readelf >/dev/null || { echo "there is no readelf" && exit 77; }

# lacks FILE: a line for each thing that it lacks.
lacks() {
    readelf -hlW "$1" >"$tree/head"
    readelf -dW "$1" >"$tree/dynamic"
    readelf --dyn-syms -W "$1" >"$tree/names"
    grep -q 'Type: *DYN' "$tree/head" || echo "$1: not position independent"
    grep -q GNU_RELRO "$tree/head" || echo "$1: no read-only relocations"
    grep -q 'GNU_STACK.* RW ' "$tree/head" || echo "$1: an executable stack"
    grep -q 'BIND_NOW\|FLAGS_1.* NOW' "$tree/dynamic" || echo "$1: names are bound late"
    case $1 in *-audit.so | */leadline) return ;; esac # have no array on their stacks
    grep -q ' __stack_chk_fail' "$tree/names" || echo "$1: the stack is not watched"
    [ "$configuration" = Debug ] || grep ' __[a-z0-9_]*_chk' "$tree/names" | grep -qv __stack_chk || echo "$1: sizes are not watched"
}

# What lacks everything is told to.
printf '%s\n' '#include <string.h>' 'int main(int n, char **t) { char c[8]; strcpy(c, t[0]); return c[n]; }' >"$tree/soft.c"
$2 -O2 -U_FORTIFY_SOURCE -fno-stack-protector -fno-pie -no-pie -Wl,-z,norelro,-z,lazy,-z,execstack \
    "$tree/soft.c" -o "$tree/soft" 2>/dev/null
[ "$(lacks "$tree/soft" | wc -l)" = "$([ "$configuration" = Debug ] && echo 5 || echo 6)" ] || { echo "a program without any of it is found to lack only:" && lacks "$tree/soft" && exit 1; }

files() { # what else bears such a name, as what shells complete by, is a text
    find "$1" -type f ! -path '*/share/*' \( -name leadline -o -name leadline-mpi -o -name leadline-probe -o -name 'libleadline-*.so' -o -name 'libleadline.so.*' \)
}
files "$build/sim" >"$tree/files"
files "$build/tracer" >>"$tree/files"
cmake --install "$build" --prefix "$tree/installed" >/dev/null
files "$tree/installed" >>"$tree/files"
least=8
[ "$(wc -l <"$tree/files")" -ge "$least" ] || { echo "only these were found:" && cat "$tree/files" && exit 1; }
while read -r file; do lacks "$file"; done <"$tree/files" | grep . && exit 1
echo "$(wc -l <"$tree/files") files lack nothing"
