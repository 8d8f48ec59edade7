#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# checker.sh LEADLINE: check_schedule.py finds each of several mistakes that are made in a right schedule. 77 without
# Python.
set -eu
command -v python3 >/dev/null || { echo "no python3" && exit 77; }
here=$(mktemp -d) && trap 'rm -rf "$here"' EXIT
leadline=$1
python3 tests/fusion/networks.py "$here"

# schedule WORKLOAD OPTION...: a right one.
schedule() {
    workload=$1
    shift
    "$leadline" import onnx "$here/$workload.onnx" -o "$here/w.llt" >/dev/null
    "$leadline" dump "$here/w.llt" >"$here/w.jsonl"
    "$leadline" sim -c stream_tpu_quad "$@" --json --tiles "$here/tiles.json" "$here/w.llt" >"$here/out.json"
    python3 tests/fusion/check_schedule.py "$here/tiles.json" "$here/w.jsonl" 1.024e12
}
schedule two_conv

# breach WHAT CODE: the schedule s, changed by this code, is wrong.
breach() {
    printf 'import json\ns = json.load(open("%s/tiles.json"))\n%s\njson.dump(s, open("%s/bad.json", "w"))\n' "$here" "$2" \
        "$here" | python3 -
    if python3 tests/fusion/check_schedule.py "$here/bad.json" "$here/w.jsonl" 1.024e12 >"$here/found"; then
        echo "not found: $1" && exit 1
    fi
    echo "$1: $(head -1 "$here/found")"
}
breach 'a tile begins too soon' 's["tiles"][9]["start_s"] = 0'
breach 'a tile is too short' 's["tiles"][9]["end_s"] = s["tiles"][9]["start_s"] + 1e-12'
breach 'a tile is left out' 'del s["tiles"][9]'
breach 'a tile reads less' 's["tiles"][9]["reads"] = s["tiles"][9]["reads"][1:]; s["tiles"][40]["reads"] = []'
breach 'a memory is too small' 's["memories"][0]["capacity_bytes"] /= 100'
breach 'a link is too narrow' 's["links"][0]["bandwidth_Bps"] /= 1.01'
breach 'a transfer moves less' 's["transfers"][3]["rates"] = []'
breach 'a result is not stored' 's["transfers"] = [t for t in s["transfers"] if t["fills"]]'
breach 'room is given back too soon' 's["pieces"][5]["until_s"] = s["pieces"][5]["from_s"]'
breach 'the step is shorter' 's["time_s"] /= 2'

# Channels that go block by block from one convolution into the next, through memories that hold a few; and through one
# of each channel by itself.
for workload in bottleneck inverted; do
    schedule $workload --set memory.sram.size=256KiB
    grep -q '"column_blocks": [1-9]' "$here/out.json" || { echo "$workload: it is not cut along channels" && exit 1; }
    python3 - "$here/out.json" <<'END' || exit 1
import json, sys
fusion = json.load(open(sys.argv[1]))["results"][0]["fusion"]
between = 14 * 14 * 768 * 2 # bytes of the least tensor between two of the layers
assert len(fusion["stacks"]) == 1 and fusion["time_s"] < 0.5 * fusion["layer_by_layer_s"], fusion["time_s"]
assert sum(m["peak_bytes"] for m in fusion["memories"]) < 2 * between
END
done
sum='t = next(t for t in s["tiles"] if t["op"] == s["tiles"][-1]["op"] and t["depth"][0] > 0)'
breach 'channels are not read' "$sum; t['reads'] = t['reads'][1:]"
breach 'a block of filters is another one' "$sum; w = [p for p in t['reads'] if s['pieces'][p].get('op') is None]; \
s['pieces'][w[0]]['columns'] = [0, 1]"

# A gated layer that goes block by block of its hidden columns through memories that hold a few.
schedule gated --set memory.sram.size=96KiB
grep -q '"column_blocks": [1-9][0-9]' "$here/out.json" || { echo "it is not cut along columns" && exit 1; }
sum='t = next(t for t in s["tiles"] if t["depth"][0] > 0)'
breach 'a sum is given back too soon' "$sum; s['pieces'][t['adds_to']]['until_s'] = t['start_s']"
breach 'a sum has two bytes' "$sum; s['pieces'][t['adds_to']]['bytes'] /= 2"
breach 'columns are not read' "$sum; t['reads'] = t['reads'][1:]"
breach 'a block of weights is another one' "$sum; w = [p for p in t['reads'] if s['pieces'][p].get('op') is None]; \
s['pieces'][w[0]]['columns'] = [0, 1]"
