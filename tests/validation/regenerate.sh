#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the program says of its own errors, made anew after a machine file or a cost model has changed:
# hwconfigs/residuals.csv, from which the 80 % prediction intervals come, and hwconfigs/validated.csv.
#   regenerate.sh LEADLINE DATA.csv...      DATA: the public collections; those of this folder are added
set -eu
leadline=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
found=$(mktemp)
trap 'rm -f "$found"' EXIT
"$leadline" validate "$@" "$here"/measured_h*.csv --residuals "$found" >/dev/null
cp "$found" "$here/../../hwconfigs/residuals.csv"
"$here/validated.sh" --bless "$leadline"
