#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is killed at a random moment leaves a readable trace: a recorded program, the recorder of a program, the
# recorder of a workload, each LL_KILLS times (15 when not said). killed.sh LEADLINE PRODUCTS
leadline=$1 products=$2 failed=0 kills=${LL_KILLS:-15}
here=$(mktemp -d) && trap 'rm -rf "$here"' EXIT
export OPENBLAS_NUM_THREADS=1

# Up to 0.6 seconds, after what it takes to start.
moment() { echo "0.$(($(od -An -N2 -tu2 /dev/urandom) % 600 + 1000))" | sed 's/0\.1/0./'; }

# The child of a recorder, once it is there.
program_of() {
    until grep -q . "/proc/$1/task/$1/children" 2>/dev/null; do
        [ -d "/proc/$1" ] || return
        sleep 0.01
    done
    cut -d' ' -f1 "/proc/$1/task/$1/children"
}

# Until the recording is under way: the recorder of a workload first waits for a virtual machine's processors
# to settle, for seconds if need be. Half of the kills do not wait for that.
under_way() { # of so many KiB
    tries=0
    until [ -n "$(find "$here/t.llt" -size +"$1"k 2>/dev/null)" ] || [ $((tries += 1)) -gt 1000 ]; do
        sleep 0.01
    done
}

# The trace can be read, whole or as far as it goes. Of what was killed before it was under way there may be
# none, or one without ops. How many ops it has is added to what the traces before it had.
ops=0 none=0
look() { # after how long; whether it was under way
    "$leadline" verify "$here/t.llt" >"$here/said" 2>&1
    status=$?
    if ! [ -s "$here/t.llt" ] || { [ "$2" = no ] && grep -q 'no op can be read' "$here/said"; }; then
        none=$((none + 1))
        return
    fi
    counted=$(sed -n 's/.*[ :] *\([0-9][0-9]*\) ops\{0,1\} .*/\1/p' "$here/said")
    ops=$((ops + ${counted:-0}))
    if [ $status -gt 1 ] || [ "${counted:-0}" = 0 ]; then
        echo "$what, killed after $1 s: status $status: $(cat "$here/said")"
        failed=1
    fi
}

# kill_often WHAT COMMAND...: kills the command, or with `program` its child, so often.
kill_often() {
    what=$1 ops=0 none=0 i=0
    shift
    while [ $((i += 1)) -le "$kills" ]; do
        rm -f "$here/t.llt"
        "$@" </dev/null >/dev/null 2>&1 &
        recorder=$! child='' after=$(moment) going=no
        [ "$what" = "recorder of a workload" ] || child=$(program_of $recorder)
        [ $((i % 2)) = 0 ] || { under_way 8 && going=yes; }
        victim=$recorder
        [ "$what" = program ] && victim=$child
        sleep "$after"
        kill -9 "$victim" 2>/dev/null
        wait $recorder 2>/dev/null
        [ -z "$child" ] || kill -9 "$child" 2>/dev/null
        look "$after" "$going"
    done
    echo "$what: $kills times, $ops ops in all, $none times nothing yet"
    if [ $((2 * none)) -gt "$kills" ] || [ "$ops" = 0 ]; then
        echo "$what: it was killed too early to tell"
        failed=1
    fi
}

kill_often program "$leadline" record -o "$here/t.llt" -- "$products" 24 2000000000
kill_often "recorder of a program" "$leadline" record -o "$here/t.llt" -- "$products" 24 2000000000
kill_often "recorder of a workload" "$leadline" record -o "$here/t.llt" --steps 2000000 -p m=64 -p n=64 -p k=64 gemm
exit $failed
