#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# module.sh BUILD: the tests of the module by Debian's Python, which has what others may have installed with it.
set -eu
python=/usr/bin/python3
"$python" -c 'import ctypes' 2>/dev/null || {
    echo "$python is not installed"
    exit 77
}
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
export LEADLINE_LIBRARY="$build/sim/api/libleadline.so.0" PYTHONPATH="$root/python" PYTHONDONTWRITEBYTECODE=1 MPLBACKEND=Agg
unset LEADLINE_PATH
exec "$python" "$root/tests/python/module.py" "$build/sim/cli/leadline"
