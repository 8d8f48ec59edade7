#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The law of the floors: a room includes from itself and from the rooms named behind it, nothing else.
# A folder without a row belongs to the room around it. layers.sh [ROOT] looks at another tree.
cd "${1:-$(dirname "$0")/../..}" || exit 1
here=$(mktemp -d) && trap 'rm -rf "$here"' EXIT

cat >"$here/law" <<'END'
tracer/base
tracer         tracer/base
tracer/convert tracer tracer/base
tracer/interpose tracer tracer/base
tracer/capture tracer/interpose tracer tracer/base
tracer/binary  tracer/interpose tracer tracer/base
models/nn      tracer tracer/base
models/data    tracer tracer/base
models/games   tracer tracer/base
models         models/nn models/data models/games tracer tracer/base
sim/machine    tracer tracer/base
sim/cost       sim/machine tracer tracer/base
sim/memory     sim/machine tracer tracer/base
sim/net        sim/machine tracer tracer/base
sim/scalesim   sim/machine tracer/convert tracer tracer/base
sim/replay     sim/cost sim/memory sim/net sim/machine tracer tracer/base
sim/parallel   sim/replay sim/cost sim/memory sim/net sim/machine tracer tracer/base
sim/report     sim/replay sim/parallel sim/cost sim/memory sim/net sim/machine tracer tracer/base
sim/validate   sim/parallel sim/replay sim/cost sim/memory sim/net sim/machine tracer/convert tracer tracer/base
sim/calibrate  sim/cost sim/memory sim/machine tracer tracer/base
models/micro   models/nn tracer tracer/base
sim/explore    sim/report sim/replay sim/parallel sim/cost sim/memory sim/net sim/machine tracer tracer/base
sim/study      sim/report sim/explore sim/replay sim/parallel sim/cost sim/memory sim/net sim/machine tracer/convert tracer tracer/base
sim/cli        sim/study sim/calibrate sim/validate sim/report sim/explore sim/replay sim/parallel sim/cost sim/memory sim/net sim/scalesim sim/machine models models/micro models/nn models/data tracer/binary tracer/capture tracer/interpose tracer/convert tracer tracer/base
END

find tracer models sim -name '*.[ch]' -o -name '*.def' | sort |
    xargs grep -Hn '^ *# *include *"' /dev/null |
    awk -F '"' '
    function room_of(path) {
        while (sub("/[^/]*$", "", path))
            if (path in allowed)
                return path
        return ""
    }
    NR == FNR {
        split($0, word, " ")
        allowed[word[1]] = $0 " "
        next
    }
    {
        split($1, place, ":")
        from = room_of(place[1])
        to = room_of($2)
        where = place[1] ":" place[2] ": "
        if ($2 ~ /(^|\/)\.\.?\//)
            bad = "\"" $2 "\" climbs; an include starts at the root of the repository"
        else if (from == "")
            bad = "this folder has no row in the law of the floors (tests/lint/layers.sh)"
        else if (to == "")
            bad = "\"" $2 "\" names no room"
        else if (index(" " allowed[from], " " to " ") == 0)
            bad = from " may not include " to " (\"" $2 "\")"
        else
            next
        print where bad
        breaches++
    }
    END { exit breaches > 0 }' "$here/law" -
