#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# explained.sh BUILD: leadline explain knows every word of the output. 77 without Python.
command -v python3 >/dev/null || { echo "there is no python3" && exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/explained.py" "$(cd "$1" && pwd)/sim/cli/leadline" "$here/../.."
