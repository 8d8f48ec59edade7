#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# torch.sh PROGRAM SCRIPT [ARGUMENTS...]: PROGRAM leaves weights, results and gradients in a folder and prints how long a
# step took, or is `true`; SCRIPT computes the same with PyTorch and compares. A machine without PyTorch cannot tell:
# status 77.
set -u
python=
for candidate in python3 /usr/bin/python3; do
    "$candidate" -c 'import numpy, torch' 2>/dev/null && python=$candidate && break
done
[ -n "$python" ] || {
    echo "PyTorch is not installed"
    exit 77
}
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
threads=$(nproc) program=$1 script=$2
shift 2
seconds=$("$program" "$folder" "$threads" "$@") || exit
"$python" "$script" "$folder" "$threads" "$seconds" "$@"
