#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD COMPILER: installs the build below a temporary prefix, moves it, and uses it as a stranger would.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
tree=$(mktemp -d) && trap 'rm -rf "$tree"' EXIT
cmake --install "$1" --prefix "$tree/first" >/dev/null
mv "$tree/first" "$tree/moved"
unset LEADLINE_PATH
cd "$tree"

fail() {
    echo "$*"
    exit 1
}

moved/bin/leadline --version | grep -q '^leadline [0-9]' || fail "the installed program does not run"
moved/bin/leadline machines | grep -q custom_example || fail "the installed program does not find its machines"

# The tree may lie at /leadline, and "share/leadline" is no sign of that: look for its folders.
built="$root/\(build\|models\|sim\|tracer\)"
! grep -q "$built" moved/bin/leadline || fail "the installed program knows where it was built"
! grep -rq "$tree/first\|$built" moved/lib/pkgconfig || fail "leadline.pc knows where it was built"

PKG_CONFIG_PATH=$tree/moved/lib/pkgconfig
export PKG_CONFIG_PATH
strict='-Wall -Wextra -Werror'
compile="$2 -std=c11 $strict $(pkg-config --cflags leadline-rooms)"
# shellcheck disable=SC2046 # words are meant to be split
$compile "$here/use.c" -o use $(pkg-config --libs leadline-rooms)
find moved/include/leadline -name '*.h' >headers
while read -r header; do
    $compile -fsyntax-only "$header" || fail "$header does not compile alone"
done <headers

# Tab after `-c custom_ex`, as bash asks for it; pages by man.
if command -v bash >/dev/null; then
    completed=$(PATH=$tree/moved/bin:$PATH bash -c '. moved/share/bash-completion/completions/leadline
        COMP_WORDS=(leadline sim -c custom_exam) COMP_CWORD=3
        _leadline
        echo "${COMPREPLY[@]}"')
    [ "$completed" = custom_example ] || fail "bash completes custom_exam to '$completed'"
fi
grep -q '^\.TH "LEADLINE-SIM" 1' moved/share/man/man1/leadline-sim.1 || fail "leadline-sim(1) is not there"
! command -v man >/dev/null || LC_ALL=C.UTF-8 MANPATH=$tree/moved/share/man man --warnings leadline-sim 2>warned >/dev/null
[ ! -s warned ] || { cat warned && fail "man warns of leadline-sim(1)"; }

# What is exported is what was committed to: a name that goes, or one that nobody meant, breaks who links it.
nm -D --defined-only moved/lib/libleadline.so.0 | sed -n 's/.* //; s/@@/ /p' | sort >exported
diff -u "$here/symbols.txt" exported || fail "libleadline.so.0 exports other names than tests/package/symbols.txt has"

# The examples, as C and as C++, and one that prints what the program does.
cc="$2" cxx=$(command -v c++ || command -v clang++ || true)
for example in "$root"/examples/c/*.c; do
    name=$(basename "$example" .c)
    # shellcheck disable=SC2046
    $cc -std=c11 $strict "$example" -o "$name" $(pkg-config --cflags --libs leadline) -Wl,-rpath,"$tree/moved/lib" -pthread
    # shellcheck disable=SC2046
    [ -z "$cxx" ] || $cxx -x c++ $strict -fsyntax-only "$example" $(pkg-config --cflags leadline)
done
./simulate custom_example "$root/traces/alexnet_infer_b1.llt" what-if >of_library
moved/bin/leadline sim -c custom_example --what-if --json "$root/traces/alexnet_infer_b1.llt" >of_program
cmp of_library of_program || fail "the library's document is not the program's"
[ "$(./threads "$root/traces/alexnet_infer_b1.llt" custom_example h100_sxm | wc -l)" = 2 ] || fail "threads"
! ./simulate custom_example no.llt 2>told || fail "a trace that is not there was simulated"
grep -q no.llt told || fail "the missing trace is not told of"

# 2 m n k = 2 * 3 * 7 * 5
[ "$(./use)" = 210 ] || fail "a program that uses the library says $(./use), expected 210"
