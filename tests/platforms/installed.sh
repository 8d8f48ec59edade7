#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# installed.sh: the packages are installed on this system. The program, its pages and completion, the module, the library,
# also by CMake.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d) && trap 'rm -rf "$tree"' EXIT
unset LEADLINE_PATH PYTHONPATH LEADLINE_LIBRARY
cd "$tree"
leadline machines | grep -q custom_example
leadline record memnet --infer --dry-run -o memnet.llt >/dev/null
leadline sim -c custom_example --json memnet.llt >program.json
man leadline-sim | grep -q -- --what-if
bash -c '. /usr/share/bash-completion/completions/leadline
    COMP_WORDS=(leadline sim -c custom_exam) COMP_CWORD=3
    _leadline
    [ "${COMPREPLY[*]}" = custom_example ]
    COMP_WORDS=(leadline sim -c h1) COMP_CWORD=3
    _leadline
    [[ " ${COMPREPLY[*]} " = *" h100_sxm "* ]]'
python3 -c '
import leadline
print(leadline.simulate("memnet.llt", "custom_example").json_text, end="")' >module.json
cmp program.json module.json
for compiler in cc c++; do
    language=c
    [ $compiler = cc ] || language=c++
    # shellcheck disable=SC2046 # words are meant to be split
    $compiler -x $language "$root/examples/c/simulate.c" -o simulate $(pkg-config --cflags --libs leadline)
    ./simulate custom_example memnet.llt >library.json
    cmp program.json library.json
done
# shellcheck disable=SC2046
c++ "$root/examples/c/what_if.cpp" -o what_if $(pkg-config --cflags --libs leadline)
[ "$(./what_if custom_example memory.hbm.bandwidth=4TB/s memnet | sort -u | wc -l)" = 2 ]
cat >CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.25)
project(stranger LANGUAGES C)
find_package(leadline REQUIRED)
add_executable(of_cmake $root/examples/c/simulate.c)
target_link_libraries(of_cmake leadline::leadline)
END
cmake -S . -B by_cmake >/dev/null
cmake --build by_cmake >/dev/null
by_cmake/of_cmake custom_example memnet.llt | cmp - program.json
! python3 -c 'import pandas, matplotlib' 2>/dev/null ||
    { MPLBACKEND=Agg python3 "$root/examples/sweep_and_plot.py" sweep.png && [ -s sweep.png ]; }
echo "all of it works"
