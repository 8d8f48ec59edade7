#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# installed.sh: the packages are installed on this system. The program, its pages and completion, the module, the library.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d) && trap 'rm -rf "$tree"' EXIT
unset LEADLINE_PATH PYTHONPATH LEADLINE_LIBRARY
cd "$tree"
leadline machines | grep -q custom_example
leadline record memnet --infer --dry-run -o memnet.llt >/dev/null
leadline sim -c custom_example --json memnet.llt >program.json
man -w leadline-sim >/dev/null
bash -c '. /usr/share/bash-completion/completions/leadline
    COMP_WORDS=(leadline sim -c custom_exam) COMP_CWORD=3
    _leadline
    [ "${COMPREPLY[*]}" = custom_example ]'
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
echo "all of it works"
