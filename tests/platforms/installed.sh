#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# installed.sh: the packages are installed on this system. The program, its pages and completion, the schema in an editor,
# the module, the library, also by CMake.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d) && trap 'rm -rf "$tree"' EXIT
unset LEADLINE_PATH PYTHONPATH LEADLINE_LIBRARY
cd "$tree"

say() { echo "- $*"; }

leadline machines | grep -q custom_example
leadline record memnet --infer --dry-run -o memnet.llt >/dev/null
leadline sim -c custom_example --json memnet.llt >program.json
leadline sim -c custom_example --figure memory.png --kind memory memnet.llt >/dev/null
[ -s memory.png ]
say "the program records, simulates and draws"
man leadline-sim | grep -q -- --what-if
say "man leadline-sim"
python3 "$root/tests/platforms/tab.py" bash zsh fish
status=0
python3 "$root/tests/schema/language_server.py" leadline || status=$?
[ $status = 0 ] || [ $status = 77 ]
[ $status = 77 ] || say "yaml-language-server finds the planted mistakes"
python3 -c '
import leadline
print(leadline.simulate("memnet.llt", "custom_example").json_text, end="")' >module.json
cmp program.json module.json
MPLBACKEND=Agg python3 "$root/examples/sweep_and_plot.py" sweep.png
[ -s sweep.png ]
say "the module prints what the program does, sweeps and plots"
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
say "C and C++ link by pkg-config and CMake"
echo "all of it works"
