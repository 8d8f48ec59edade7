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
! grep -rq "$tree/first\|$built" moved/lib/pkgconfig moved/lib/cmake || fail "what finds the library knows where it was built"

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
if command -v fish >/dev/null; then
    fish -n moved/share/fish/vendor_completions.d/leadline.fish || fail "fish cannot read its completion"
    completed=$(PATH=$tree/moved/bin:$PATH HOME=$tree fish -c 'source moved/share/fish/vendor_completions.d/leadline.fish
        complete -C "leadline sim -c custom_exam"')
    [ "$(echo "$completed" | cut -f 1)" = custom_example ] || fail "fish completes custom_exam to '$completed'"
fi
# In zsh the page is the body of a function, which the first Tab calls.
if command -v zsh >/dev/null; then
    completed=$(PATH=$tree/moved/bin:$PATH zsh -f -c 'compadd() { [[ ${@[-1]} = whole ]] && print -- $whole }
        compdef() { :; }
        fpath=(moved/share/zsh/site-functions)
        autoload -Uz _leadline
        words=(leadline sim -c custom_exam) CURRENT=4
        _leadline')
    [ "$completed" = custom_example ] || fail "zsh completes custom_exam to '$completed'"
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
# shellcheck disable=SC2046
[ -z "$cxx" ] || $cxx $strict "$root/examples/c/what_if.cpp" -o what_if $(pkg-config --cflags --libs leadline) -Wl,-rpath,"$tree/moved/lib"
./simulate custom_example "$root/traces/alexnet_infer_b1.llt" what-if >of_library
moved/bin/leadline sim -c custom_example --what-if --json "$root/traces/alexnet_infer_b1.llt" >of_program
cmp of_library of_program || fail "the library's document is not the program's"
[ "$(./threads "$root/traces/alexnet_infer_b1.llt" custom_example h100_sxm | wc -l)" = 2 ] || fail "threads"
! ./simulate custom_example no.llt 2>told || fail "a trace that is not there was simulated"
grep -q no.llt told || fail "the missing trace is not told of"

# What the page of the library shows first.
ln -s "$root/examples" "$root/traces" .
sed -n '/^```$/,/^```$/{/^```/!p}' "$root/docs/library.md" | head -n 2 >shown
LD_RUN_PATH=$tree/moved/lib sh -eu shown >of_page
moved/bin/leadline sim -c h100_sxm --what-if --json traces/alexnet_infer_b1.llt | cmp - of_page || fail "docs/library.md shows something else"
./build custom_example 64 1024 4096 1024 | grep -q '^[0-9.e-]* s$' || fail "no step is built op by op"
! ./build custom_example 64 1024 wide 2>told || fail "a layer of no width was built"
grep -q '1024xwide:bf16: expected' told || fail "its shape is not told of"

# The same by CMake, in C and in C++.
mkdir project
cat >project/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.25)
project(stranger LANGUAGES C ${cxx:+CXX})
find_package(leadline 0.2 REQUIRED CONFIG)
add_executable(of_cmake $root/examples/c/simulate.c)
target_link_libraries(of_cmake leadline::leadline)
${cxx:+add_executable(what_if_of_cmake $root/examples/c/what_if.cpp)
target_link_libraries(what_if_of_cmake leadline::leadline)}
END
{
    cmake -S project -B by_cmake -DCMAKE_PREFIX_PATH="$tree/moved" -DCMAKE_C_COMPILER="$2" ${cxx:+"-DCMAKE_CXX_COMPILER=$cxx"} &&
        cmake --build by_cmake
} >cmake.log || { cat cmake.log && fail "no program by find_package(leadline)"; }
by_cmake/of_cmake custom_example "$root/traces/alexnet_infer_b1.llt" what-if | cmp - of_program || fail "by CMake: another document"
if [ "$cxx" ]; then
    ./what_if custom_example memory.hbm.bandwidth=4TB/s memnet >faster
    by_cmake/what_if_of_cmake custom_example memory.hbm.bandwidth=4TB/s memnet | cmp - faster || fail "by CMake: other times"
    [ "$(sort -u faster | wc -l)" = 2 ] || { cat faster && fail "a faster memory changes nothing"; }
fi

# 2 m n k = 2 * 3 * 7 * 5
[ "$(./use)" = 210 ] || fail "a program that uses the library says $(./use), expected 210"
