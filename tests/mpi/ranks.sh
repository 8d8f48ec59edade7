#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154 # common.sh is read when this runs, and says what program, mpi, space and here are
# One, two and four ranks find what one process finds, also when the search learns: ranks.sh LEADLINE
set -eu
. "$(dirname "$0")/common.sh"
trap 'rm -rf "$here"' EXIT
for search in grid "{kind: evolve, points: 400, seed: 3}"; do
    { cat "$space" && echo "search: $search"; } >"$here/sweep.yaml"
    "$program" sweep "$here/sweep.yaml" -o "$here/alone.db" --fresh >/dev/null
    for ranks in 1 2 4; do
        mpirun --oversubscribe -np $ranks "$mpi" sweep "$here/sweep.yaml" -o "$here/ranks.db" -j 1 --fresh >/dev/null
        same "$here/alone.db" "$here/ranks.db" "$search, $ranks ranks"
        for part in "$here"/*part*; do
            [ ! -e "$part" ] || { echo "$part is left" && exit 1; }
        done
    done
done

# Results of another sweep are told of once, by the name that was given, and nothing is left beside them.
{ cat "$space" && echo "search: {kind: evolve, points: 400, seed: 4}"; } >"$here/other.yaml"
if mpirun --oversubscribe -np 2 "$mpi" sweep "$here/other.yaml" -o "$here/ranks.db" -j 1 2>"$here/complaints"; then
    echo "the results of another sweep were taken" && exit 1
fi
[ "$(grep -c 'another' "$here/complaints")" = 1 ] || { cat "$here/complaints" && exit 1; }
for part in "$here"/*part*; do
    [ ! -e "$part" ] || { echo "$part is left" && exit 1; }
done
