#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154 # common.sh is read when this runs, and says what program, mpi, space and here are
# A rank that is killed loses no finished point, and the next run finds the rest: killed.sh LEADLINE
set -eu
. "$(dirname "$0")/common.sh"
trap 'rm -rf "$here"' EXIT
sed 's/\[100GB.*\]/{from: 50GB\/s, to: 1000GB\/s, by: 50GB\/s}/' "$space" >"$here/large.yaml"
space=$here/large.yaml
"$program" sweep "$space" -o "$here/alone.db" >/dev/null

# Points in all parts, each once.
finished() {
    for part in "$here"/killed.part*.db; do
        sqlite3 "$part" 'SELECT number FROM points' 2>/dev/null || true
    done | sort -u | wc -l
}

for victim in 0 1; do
    rm -f "$here"/killed*
    mpirun --oversubscribe -np 2 "$mpi" sweep "$space" -o "$here/killed.db" -j 1 >/dev/null 2>&1 &
    launcher=$!
    tries=0
    until [ "$(finished)" -ge 200 ]; do
        sleep 0.05
        [ $((tries += 1)) -lt 600 ] || { echo "the ranks do not get on" && exit 1; }
    done
    # The ranks are children of the launcher, in the order of their numbers.
    rank=$(ps -o pid= --ppid $launcher | sed -n "$((victim + 1))p")
    kill -9 $rank
    wait $launcher && { echo "mpirun did not notice" && exit 1; }
    before=$(finished)
    mpirun --oversubscribe -np 2 "$mpi" sweep "$space" -o "$here/killed.db" -j 1 --json >"$here/told"
    known=$(sed -n 's/.*"known": \([0-9]*\).*/\1/p' "$here/told")
    [ "$known" = "$before" ] || { echo "of $before finished points $known were known again" && exit 1; }
    same "$here/alone.db" "$here/killed.db" "rank $victim killed after $before points"
done
