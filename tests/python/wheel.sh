#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wheel.sh BUILD: Debian's setuptools makes a wheel; unpacked where nothing else of ours is, it simulates.
set -eu
python=/usr/bin/python3
"$python" -c 'import setuptools, wheel' 2>/dev/null || {
    echo "python3-setuptools and python3-wheel are not installed"
    exit 77
}
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
tree=$(mktemp -d) && trap 'rm -rf "$tree"' EXIT
unset LEADLINE_PATH LEADLINE_LIBRARY PYTHONPATH
(cd "$root/python" && LEADLINE_BUILD=$build "$python" setup.py -q egg_info -e "$tree" build -b "$tree/build" \
    bdist_wheel -b "$tree/dumb" -d "$tree" >"$tree/log" 2>&1) || { cat "$tree/log" && exit 1; }
set -- "$tree"/leadline-*-py3-none-linux_*.whl
[ -f "$1" ] || { ls "$tree" && echo "no wheel of that name" && exit 1; }
"$python" -m zipfile -e "$1" "$tree/installed"
cd "$tree/installed"
"$python" -c '
import leadline, os
assert leadline.__file__.startswith(os.getcwd()), leadline.__file__
assert leadline.folders()[0].startswith(os.getcwd()), leadline.folders()
trace = leadline.Trace.record("memnet", infer=True, batch=1)
assert leadline.simulate(trace, "custom_example").time_s > 0'
