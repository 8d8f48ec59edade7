#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The law of the floors: a room includes from itself and from the rooms named behind it, nothing else.
# A folder without a row belongs to the room around it. layers.sh [ROOT] looks at another tree.
cd "${1:-$(dirname "$0")/../..}" || exit 1
here=$(mktemp -d) && trap 'rm -rf "$here"' EXIT

cat >"$here/law" <<'END'
tracer/base
tracer/ir      tracer/base
tracer/format  tracer/ir tracer/base
tracer/record  tracer/format tracer/ir tracer/base
tracer/transform tracer/record tracer/ir tracer/base
tracer/convert T
tracer/interpose T
tracer/capture tracer/interpose T
tracer/binary  tracer/interpose T
models/nn      T
models/data    T
models/games   T
models         models/nn models/data models/games T
sim/machine    T
sim/array      sim/machine T
sim/cost       sim/array sim/machine T
sim/memory     sim/machine T
sim/network    sim/machine T
sim/scalesim   sim/machine tracer/convert T
sim/interchange sim/array sim/scalesim sim/machine T
sim/replay     sim/cost sim/memory sim/network sim/machine T
sim/fusion     sim/replay sim/cost sim/memory sim/network sim/machine T
sim/parallel   sim/replay sim/cost sim/memory sim/network sim/machine T
sim/report     sim/replay sim/fusion sim/parallel sim/cost sim/memory sim/network sim/machine T
sim/page       sim/report sim/fusion sim/parallel sim/replay sim/cost sim/memory sim/network sim/machine T
sim/validate   sim/parallel sim/replay sim/array sim/cost sim/memory sim/network sim/machine tracer/convert T
sim/serve      sim/parallel sim/replay sim/cost sim/memory sim/network sim/machine T
sim/calibrate  sim/cost sim/memory sim/machine T
models/micro   models/nn T
sim/explore    sim/page sim/report sim/replay sim/fusion sim/parallel sim/cost sim/memory sim/network sim/machine T
sim/study      sim/page sim/report sim/explore sim/replay sim/parallel sim/cost sim/memory sim/network sim/machine tracer/convert T
sim/cli        sim/serve sim/page sim/study sim/calibrate sim/validate sim/report sim/explore sim/replay sim/fusion sim/parallel sim/array sim/cost sim/memory sim/network sim/interchange sim/scalesim sim/machine models models/micro models/nn models/data tracer/binary tracer/capture tracer/interpose tracer/convert T
sim/api        sim/cli sim/report sim/explore sim/validate sim/replay sim/parallel sim/machine tracer/interpose T
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
        sub(/ T$/, " tracer/transform tracer/record tracer/format tracer/ir tracer/base")
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
