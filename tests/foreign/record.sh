#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# leadline record -- PROGRAM: the program keeps its streams and its exit status whatever becomes of the trace.
# record.sh LEADLINE PRODUCTS
leadline=$1 products=$2 failed=0
here=$(mktemp -d) && trap 'rm -rf "$here"' EXIT
# shellcheck source=tests/foreign/expect.sh
. "$(dirname "$0")/expect.sh"
fact() { # TRACE, key
    "$leadline" info --json "$1" | sed -n 's/.*"'"$2"'": "\([0-9]*\)".*/\1/p'
}
calls() {
    fact "$1" calls
}

said=$(echo hello | "$leadline" record -o "$here/t.llt" -- "$products" 50 7 3 2>"$here/err")
expect $? 3 "the program's own exit status"
expect "$said" "50 hello" "its own streams"
expect "$(calls "$here/t.llt")" 7 "calls recorded"
expect "$("$leadline" info --json "$here/t.llt" | sed -n 's/.*"flops": "\(.*\)",/\1/p')" $((7 * 2 * 50 * 50 * 50)) FLOPs
expect "$(wc -l <"$here/err")" "$(grep -c '^leadline: ' "$here/err")" "lines of ours alone on standard error"

# Small calls that come faster than they are written down.
echo | "$leadline" record -o "$here/f.llt" -- "$products" 2 400000 0 >/dev/null 2>&1
expect $? 0 "the exit status of a program of many small calls"
expect "$(calls "$here/f.llt")" 400000 "its calls"
echo | "$leadline" record --lossy --json -o "$here/f.llt" -- "$products" 2 400000 0 2>/dev/null >"$here/told"
expect $? "$(grep -c '"dropped": [1-9]' "$here/told")" "the exit status where they may be lost, and whether they were"

echo | "$leadline" record -o "$here/k.llt" -- "$products" 50 7 die >/dev/null 2>"$here/err"
expect $? 137 "the status of a killed program"
expect "$(grep -c "$products was ended by signal 9" "$here/err")" 1 "word of what ended a killed program"
expect "$(calls "$here/k.llt")" 7 "calls of a killed program"
"$leadline" verify "$here/k.llt" >/dev/null
expect $? 0 "the trace of a killed program"

expect "$("$leadline" info --json "$here/k.llt" | grep -c '"ended": "killed"')" 1 "word in the trace of how it ended"

# A call that the program dies in: its time is there, and nobody calls the trace complete without a word of it.
for times in 7 0; do
    echo | "$leadline" record --json -o "$here/x.llt" -- "$products" 50 $times within >"$here/told" 2>"$here/err"
    expect $? 137 "the status of a program that was killed within a call"
    expect "$(tr '\n' ' ' <"$here/err" | grep -c 'a call of dgemm_ had not returned after 2[0-9.]* ms when the program ended')" 1 \
        "word of the call that it was killed in"
    expect "$(calls "$here/x.llt")" $times "calls that returned"
    expect "$("$leadline" dump "$here/x.llt" | tail -1 | grep -c '"kind":"opaque".*"scope":"dgemm_"')" 1 "the op that was cut off"
    expect "$("$leadline" verify "$here/x.llt" | tr -s '\n ' ' ' | grep -c 'complete but for a call of dgemm_ that had not returned')" 1 \
        "the same in what verify says"
done

# Half a second before the first call, and a second behind the last, which the process itself waits. When it was
# made is known to a tick of 10 ms.
for way in preload probe; do
    echo | "$leadline" record --mech $way --json -o "$here/w.llt" -- \
        sh -c 'sleep 0.5; exec "$@"' sh "$products" 50 7 late 2>/dev/null >"$here/told"
    expect "$(awk '/"wall_s"/ { print ($2 + 0 > 1.5 - 0.02) }' "$here/told")" 1 "time that the process took, by $way"
    "$leadline" dump "$here/w.llt" >"$here/ops"
    for op in head tail; do
        expect "$($op -1 "$here/ops" | grep -c '"kind":"gap".*"duration_ns":[0-9]\{9,10\},')" 1 "a long gap at the $op, by $way"
    done
done

# Nobody knows what a program does in such time: no machine shortens it, and the first line says how much it is.
sim() {
    "$leadline" sim -c i7_6700k "$here/w.llt" "$@"
}
number() { # key
    sed -n 's/^ *"'"$1"'": \([0-9.e-]*\),*$/\1/p' | head -1
}
expect "$(sim | head -1 | grep -c '^warning: \(100.0\|9[0-9.]*\) % of the step is CPU time outside of the recorded calls')" 1 "uncovered time in the first line"
expect "$(sim --json | grep -A1 '"warnings": \[' | grep -c 'CPU time outside of the recorded calls')" 1 "the same in --json"
expect "$(sim --json | number uncovered_share | awk '{ print ($1 > 0.9 && $1 <= 1) }')" 1 "its share in --json"
expect "$(sim --gaps drop --json | number uncovered_share)" 0 "its share where it is left out"
expect "$(sim --gaps drop | grep -c '^warning')" 0 "warnings where it is left out"
expect "$(sim --gaps drop | grep -c 'gaps left out')" 1 "word of what was left out"
kept=$(sim --json | number time_s) tenth=$(sim --gaps 0.1 --json | number time_s) none=$(sim --gaps drop --json | number time_s)
expect "$(echo "$kept $tenth $none" | awk '{ off = ($2 - $3) / ($1 - $3) - 0.1; print (off < 1e-6 && off > -1e-6) }')" 1 \
    "a tenth of the time in gaps"
printf 'base: i7_6700k\ntraces: [w.llt]\nvary: {clock: [1GHz, 2GHz]}\nobjectives: [min time_s]\ngaps: 0.1\n' >"$here/s.yaml"
(cd "$here" && "$leadline" sweep s.yaml -o s.db >/dev/null && "$leadline" pareto s.db --json) >"$here/front"
expect "$(sed -n '/"base"/,$p' "$here/front" | number time_s)" "$tenth" "the same of a sweep"
said=$("$leadline" sim -c archive/vidur_a100 --dp 8 "$here/w.llt" 2>&1)
expect $? 2 "the status of replicas that have no gradients to exchange"
expect "$(echo "$said" | grep -c 'cannot be laid on 8 replicas: the trace has no gradient of a weight')" 1 "why, in words"

# The child calls first; under breakpoints a process of ours stands for the program.
for way in preload probe; do
    echo | "$leadline" record --mech $way -o "$here/$way.llt" -- "$products" 50 7 fork >/dev/null 2>"$here/err"
    set -- "$here/$way".*llt
    expect $# 2 "files of a program with a child, by $way"
    for trace in "$@"; do
        expect "$(calls "$trace")" 7 "calls in $(basename "$trace")"
    done
    expect "$(fact "$1" parent_pid)" "$(fact "$here/$way.llt" pid)" "parent of the further process, by $way"
    expect "$(grep -o ': .*llt' "$here/err" | head -1)" ": $here/$way.llt" "trace that is told first, by $way"

    echo | "$leadline" record --mech $way -o "$here/e$way.llt" -- "$products" 50 7 exec >/dev/null 2>"$here/err"
    set -- "$here/e$way".*llt
    expect $# 2 "files of a program that becomes another one, by $way"
    for trace in "$@"; do
        expect "$(calls "$trace")" 7 "calls in $(basename "$trace")"
    done
done

echo | "$leadline" record -o "$here/m.llt" -- "$products" 50 7 threads >/dev/null 2>&1
expect "$("$leadline" info "$here/m.llt" | tr '\n' ' ' | grep -o '([^(]*41 *threads)')" "(the first of 41 threads)" "threads told"
expect "$("$leadline" info "$here/m.llt" | sed -n '/each thread/,/threads)/p' | grep -o '%' | wc -l)" 16 "shares of threads told"

echo | "$leadline" record -o "$here/l.llt" -- "$products" 50 7 limit >/dev/null 2>"$here/err"
expect $? 1 "the exit status of a program that ended well, where calls were lost"
# When one thread ends, one that waits takes its ring: how many of its seven calls that is in time for, is chance.
seen=$(calls "$here/l.llt")
expect "$([ "$seen" -ge 7 ] && [ "$seen" -le 14 ] && echo yes)" yes "$seen calls of the threads that have a ring: 7 of the first, up to 7 of one that waited"
expect "$(grep -c 'events lost, their threads found no room' "$here/err")" 1 "word of threads that found no room"
expect "$("$leadline" info "$here/l.llt" | tr '\n' ' ' | grep -c 'threads without a ring')" 1 "the same in the trace"

"$leadline" verify "$here/l.llt" >"$here/said"
expect $? 1 "what verify says of a trace that lacks calls"
expect "$(grep -c 'incomplete: .* events of the program found no room' "$here/said")" 1 "why, in words"
"$leadline" sim "$here/l.llt" -c custom_example >/dev/null 2>"$here/said"
expect "$(grep -c 'incomplete: .* events of the program found no room' "$here/said")" 1 "the same before a simulation"

said=$(echo | "$leadline" record --json -o "$here/j.llt" -- "$products" 50 7 0 2>&1 >/dev/full | grep -c 'cannot be written')
expect "$said" 1 "word of a report that did not arrive"
echo | "$leadline" record --json -o "$here/j.llt" -- sh -c '"$@" >/dev/null' sh "$products" 50 7 0 2>/dev/null >/dev/full
expect $? 1 "the exit status where the report did not arrive"

letters=$(printf 'ä%.0s' $(seq 120))
for more in "" a; do
    echo | "$leadline" record -o "$here/u.llt" -- "$products" 50 7 0 "$more$letters" >/dev/null 2>&1
    "$leadline" info --json "$here/u.llt" | iconv -f UTF-8 -t UTF-8 >/dev/null 2>&1
    expect $? 0 "a long command, cut between letters"
done

echo | OPENBLAS_CORETYPE=Prescott "$leadline" record -o "$here/c.llt" -- "$products" 50 7 fork >/dev/null 2>"$here/err"
expect "$(grep -c OPENBLAS_CORETYPE "$here/err" | sed 's/^0$/1/')" 1 "remarks on the kernels of two processes"

# Installed in a folder whose name LD_PRELOAD cannot hold.
mkdir -p "$here/my: tools/bin" "$here/my: tools/api" "$here/my: tools/lib/leadline"
cp "$leadline" "$here/my: tools/bin" && cp "$(dirname "$leadline")"/../api/libleadline.so.0 "$here/my: tools/api" &&
    cp "$(dirname "$leadline")"/../../tracer/interpose/preload/lib*.so "$here/my: tools/lib/leadline"
said=$(echo away | "$here/my: tools/bin/leadline" record -o "$here/i.llt" -- "$products" 50 7 0 2>"$here/err")
expect "$said" "50 away" "output where the recorder has an odd name"
expect "$(calls "$here/i.llt")" 7 "calls where the recorder has an odd name"
expect "$(grep -vc '^leadline: ' "$here/err")" 0 "lines of others on standard error where the recorder has an odd name"

said=$(echo full | "$leadline" record -o /dev/full -- "$products" 50 7 5 2>"$here/err")
expect $? 5 "the exit status where the disk is full"
expect "$said" "50 full" "output where the disk is full"
expect "$(grep -c 'disk is full' "$here/err")" 1 "messages of a full disk"

echo | "$leadline" record -o /dev/full -- "$products" 50 7 0 >/dev/null 2>&1
expect $? 1 "the exit status of a program that ended well, where the disk is full"

echo | "$leadline" record -o "$here/r.llt" -- sh -c 'ulimit -f 0; exec "$@"' sh "$products" 50 7 0 >/dev/null 2>"$here/err"
expect $? 1 "the exit status where a process that ended well found no room to be recorded"
expect "$(grep -c '1 process not recorded: no room for rings.*ulimit -f' "$here/err")" 1 "word of a process that was not recorded"
(ulimit -f 1; "$leadline" record -o "$here/r.llt" -- true 2>"$here/err")
expect $? 1 "the exit status where the recorder's own files may not grow"
expect "$(grep -c 'ulimit -f' "$here/err")" 1 "word of the limit on the size of files"

"$leadline" record -o "$here/nowhere/t.llt" -- touch "$here/ran" 2>"$here/err"
expect $? 1 "the exit status where no trace can be made"
[ ! -e "$here/ran" ] || expect ran "not run" "a program that could not be recorded"

for way in preload probe; do
    "$leadline" record --mech $way --json -o "$here/o.llt" -- sh -c 'sleep 3 >/dev/null 2>&1 & "$@" </dev/null' \
        sh "$products" 50 7 0 2>"$here/err" >"$here/told"
    expect "$(grep -c 'has ended; 1 process of it still runs' "$here/err")" 1 "word of what goes on, by $way"
    expect "$(grep -c '"still_running": 1' "$here/told")" 1 "the same as JSON, by $way"
done

"$leadline" record -o "$here/q.llt" -- true 2>"$here/err"
expect $? 0 "the exit status where there was nothing to record"
expect "$(grep -c -e '--coverage.*--mech' "$here/err")" 1 "ways to see more"
cp "$here/t.llt" "$here/q.llt"
"$leadline" record -o "$here/q.llt" -- true 2>"$here/err"
expect $? 1 "the exit status where an earlier recording would be taken for this one"
expect "$(grep -c 'was there before' "$here/err")" 1 "word of an earlier recording"
cmp "$here/t.llt" "$here/q.llt" || expect changed kept "an earlier recording"

for way in preload probe; do
    "$leadline" record --mech $way -o "$here/n.llt" -- "$here/nowhere" 2>"$here/err"
    expect $? 127 "the status of a program that is not there, by $way"
    "$leadline" record --mech $way -o "$here/n.llt" -- "$here/t.llt" 2>"$here/err"
    expect $? 126 "the status of what is no program, by $way"
done

# A program that runs as somebody else is closed to its starter. Only root can make one here.
cp "$products" "$here/closed" && chown nobody "$here/closed" 2>/dev/null && chmod u+s "$here/closed"
if [ -u "$here/closed" ] && [ "$(id -u)" = 0 ] && ! findmnt -no OPTIONS -T "$here" 2>/dev/null | grep -q nosuid; then
    said=$("$leadline" record --coverage -- "$here/closed")
    expect "$(echo "$said" | grep -c 'lets nobody into it')" 1 "word of a program that is closed"
    expect "$(echo "$said" | grep -c 'preload sees 0 of ')" 1 "what is seen of it"
fi

"$leadline" record -o "$here/s.llt" -- sleep 30 &
sleep 1
kill -TERM $!
wait $!
expect $? 143 "the status of a program that was sent a signal"

# A recorder that is killed leaves its rings behind; the next one removes them, and none that is in use.
rings_of() { # RECORDER: the folder that its program knows
    program=$(cut -d' ' -f1 "/proc/$1/task/$1/children")
    tr '\0' '\n' <"/proc/$program/environ" | grep -o '/[^:=]*leadline-[A-Za-z0-9]\{6\}$' | head -1
}
"$leadline" record -o "$here/a.llt" -- sleep 30 &
living=$!
"$leadline" record -o "$here/b.llt" -- sleep 5 &
killed=$!
sleep 1
used=$(rings_of $living) abandoned=$(rings_of $killed)
kill -9 $killed
wait $killed 2>/dev/null
[ -d "$abandoned" ] || expect gone "left behind" "rings of a recorder that was killed"
"$leadline" record -o "$here/d.llt" -- true 2>/dev/null
[ ! -d "$abandoned" ] || expect "left behind" removed "rings of a recorder that was killed"
[ -d "$used" ] || expect removed kept "rings that are in use"
kill -TERM $living
wait $living
exit $failed
