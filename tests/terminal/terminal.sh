#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# terminal.sh BUILD SCRIPT: runs a script of this folder with the program of a build tree; 77 without Python.
set -u
command -v python3 >/dev/null || { echo "there is no python3" && exit 77; }
PATH="$(cd "$1" && pwd)/sim/cli:$PATH" exec python3 "$(dirname "$0")/$2"
