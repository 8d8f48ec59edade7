#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a schedule of tiles on cores (leadline sim --tiles) against the ops of its trace (leadline dump), knowing
nothing of how it was made:

    check_schedule.py SCHEDULE.json DUMP.jsonl [peak FLOP/s of a core for products]

- a core computes one tile at a time, no faster than its peak;
- the tiles of an op make all of its result, along all of its depth;
- a tile reads what it needs: rows under its window, columns, the weights of its columns and depth, computed or brought
  before it begins, there until it ends;
- what a tile adds to is there meanwhile, with four bytes for each sum that is not whole;
- what goes out of a core was computed before; what comes from the outermost memory was written there before;
- a transfer brings its bytes at its rates, and at no time more passes a link than its bandwidth;
- at no time more lies in a memory than it holds;
- what another stack reads, and what no op reads, is written to the outermost memory."""
import json
import sys
from collections import defaultdict

CLOSE = 1e-9
problems = []


def wrong(text):
    problems.append(text)


def later(one, other, scale):
    return one > other + CLOSE * scale


def covers(ranges, lo, hi):
    at = lo
    for first, end in sorted(ranges):
        if first > at:
            return False
        at = max(at, end)
    return at >= hi


def sweep(events):
    """The largest sum of what is added and taken away, those that end at a time before those that begin then."""
    most = total = 0.0
    for _, _, amount in sorted(events):
        total += amount
        most = max(most, total)
    return most


def rows_of(dims):
    rows = 1
    for d in dims[: 2 if len(dims) == 4 else len(dims) - 1]:
        rows *= d
    return rows


def covered(pieces, rows, columns):
    """Whether pieces, each its rows and columns, cover these."""
    edges = {columns[0], columns[1]}
    for _, (first, end) in pieces:
        edges |= {e for e in (first, end) if columns[0] < e < columns[1]}
    edges = sorted(edges)
    return all(covers([r for r, (a, b) in pieces if a <= first and end <= b], *rows)
               for first, end in zip(edges, edges[1:]))


def needed_columns(op, i, tile):
    """Columns of input i that a tile needs: of a GEMM, and of a convolution of all channels, its depth; of what stands for
    itself, as a channel that is convolved alone, the same ones; else all."""
    dims = op["inputs"][i]["dims"]
    if op["kind"] == "matmul" and i == 0:
        return tile["depth"]
    if op["kind"] == "conv2d" and i == 0 and op["inputs"][1]["dims"][2] == dims[-1]:
        return tile["depth"] if op["whole_depth"] == dims[-1] else [0, dims[-1]]
    if op["kind"] == "conv2d" and i == 0 and op["inputs"][1]["dims"][2] == 1 and dims[-1] == op["outputs"][0]["dims"][-1]:
        return tile["columns"]
    if op["kind"] in ("matmul", "conv2d", "softmax", "layer_norm", "rms_norm") or dims != op["outputs"][0]["dims"]:
        return [0, dims[-1]]
    return tile["columns"]


def needed_rows(op, i, rows, whole):
    """Rows of input i that these rows of the result need: of a convolution its window, else the same ones."""
    dims, out = op["inputs"][i]["dims"], op["outputs"][0]["dims"]
    if op["kind"] == "conv2d" and i == 0:
        attrs, height = op["attrs"], op["inputs"][1]["dims"][0]
        stride, pad = attrs.get("stride_h", 1), attrs.get("pad_top", 0)
        reach = (height - 1) * attrs.get("dilation_h", 1) + 1
        found = []
        for row in (rows[0], rows[1] - 1):
            image, y = divmod(row, out[1])
            first = min(max(y * stride - pad, 0), dims[1] - 1)
            end = min(max(y * stride - pad + reach, 1), dims[1])
            found += [image * dims[1] + first, image * dims[1] + end]
        return min(found), max(found)
    if op["kind"] in ("matmul",) and i == 0 or rows_of(dims) == whole and dims == out:
        return rows
    return None


def check_cores(schedule, peak):
    by_core = defaultdict(list)
    for tile in schedule["tiles"]:
        by_core[tile["core"]].append((tile["start_s"], tile["end_s"]))
    for core, spans in by_core.items():
        spans.sort()
        for (_, end), (start, _) in zip(spans, spans[1:]):
            if later(end, start, schedule["time_s"]):
                wrong(f"core {core} computes two tiles at {start}")


def check_work(schedule, ops, peak):
    tiles = defaultdict(list)
    for tile in schedule["tiles"]:
        tiles[tile["op"]].append(tile)
    for seq, op in ops.items():
        if op["kind"] in ("host_input", "reshape") or not op["outputs"] or (not op["flops"] and not op["bytes_read"]):
            continue
        mine = tiles.get(seq)
        if not mine:
            wrong(f"op {seq} ({op['kind']}) is not computed")
            continue
        full = [max(t[key][1] for t in mine) for key in ("rows", "columns", "depth")]
        op["whole_depth"] = full[2]
        product = op["kind"] in ("conv2d", "matmul")
        if product and full[:2] != [rows_of(op["outputs"][0]["dims"]), op["outputs"][0]["dims"][-1]]:
            wrong(f"op {seq}: tiles end at {full}")
        if op["kind"] == "matmul" and full[2] != op["inputs"][0]["dims"][-1]:
            wrong(f"op {seq}: depth ends at {full[2]}")
        if op["kind"] == "conv2d" and full[2] not in (1, op["inputs"][1]["dims"][2]):
            wrong(f"op {seq}: channels end at {full[2]}")
        cells = sorted({tuple(t["columns"] + t["depth"]) for t in mine})
        edges = sorted({e for c in cells for e in c[:2]}), sorted({e for c in cells for e in c[2:]})
        for c0, c1 in zip(edges[0], edges[0][1:]):
            for k0, k1 in zip(edges[1], edges[1][1:]):
                spans = [t["rows"] for t in mine if t["columns"][0] <= c0 and c1 <= t["columns"][1]
                         and t["depth"][0] <= k0 and k1 <= t["depth"][1]]
                if not covers(spans, 0, full[0]):
                    wrong(f"op {seq}: rows of columns {c0}-{c1}, depth {k0}-{k1} are missing")
        for t in mine if peak and product else []:
            share = 1.0
            for key, whole in zip(("rows", "columns", "depth"), full):
                share *= (t[key][1] - t[key][0]) / whole
            if later(op["flops"] * share / peak, t["end_s"] - t["start_s"], schedule["time_s"]):
                wrong(f"op {seq}: a tile is faster than the core's peak")
    return tiles


def check_reads(schedule, ops, stored):
    pieces, total = schedule["pieces"], schedule["time_s"]
    made, filled = defaultdict(list), {}
    for tile in schedule["tiles"]:
        made[tile["adds_to"]].append(tile["end_s"])
    for transfer in schedule["transfers"]:
        for piece in transfer["fills"]:
            filled[piece] = transfer["end_s"]
    there = [filled.get(i, max(made[i]) if made[i] else None) for i in range(len(pieces))]
    parts = defaultdict(set)
    for tile in schedule["tiles"]:
        parts[tile["adds_to"]].add(tuple(tile["depth"]))
    for tile in schedule["tiles"]:
        piece = pieces[tile["adds_to"]]
        if later(piece["from_s"], tile["start_s"], total) or later(tile["end_s"], piece["until_s"], total):
            wrong(f"op {tile['op']}: a tile adds to what is not there")
        cells = (piece["rows"][1] - piece["rows"][0]) * (piece["columns"][1] - piece["columns"][0])
        if len(parts[tile["adds_to"]]) > 1 and piece["bytes"] < 4 * cells:
            wrong(f"op {tile['op']}: {cells} sums lie in {piece['bytes']} bytes")
    makers = {t["id"]: seq for seq, op in ops.items() for t in op["outputs"]}
    for tile in schedule["tiles"]:
        op, found = ops[tile["op"]], defaultdict(list)
        for i in tile["reads"]:
            piece = pieces[i]
            if there[i] is None or later(there[i], tile["start_s"], total):
                wrong(f"op {tile['op']}: a tile begins before what it reads is there")
            if later(tile["end_s"], piece["until_s"], total) or later(piece["from_s"], tile["start_s"], total):
                wrong(f"op {tile['op']}: what a tile reads is gone")
            found["op", piece.get("op")].append((piece["rows"], piece["columns"]))
            found["tensor", piece.get("tensor")].append((piece["rows"], piece["columns"]))
        for i, value in enumerate(op["inputs"]):
            needed = needed_rows(op, i, tile["rows"], rows_of(op["outputs"][0]["dims"]))
            maker = makers.get(value["id"])
            ranges = found["tensor", value["id"]] + (found["op", maker] if maker is not None else [])
            columns = needed_columns(op, i, tile)
            if op["kind"] == "matmul" and i == 1 and len(value["dims"]) == 2 and maker is None:
                needed, columns = tile["depth"], tile["columns"]
            if op["kind"] == "conv2d" and i == 1 and maker is None:
                needed, columns = tile["depth"], tile["columns"]
            if needed and not covered(ranges, needed, columns):
                wrong(f"op {tile['op']}: rows {needed}, columns {columns} of input {i} are not read, but {ranges}")
    for transfer in schedule["transfers"]:
        source = transfer.get("reads")
        if source is not None and (there[source] is None or later(there[source], transfer["start_s"], total)):
            wrong("a transfer begins before its piece is made")
        if source is not None and later(transfer["end_s"], pieces[source]["until_s"], total):
            wrong("a piece is gone before it has left")
        for piece in transfer["fills"]:
            if later(pieces[piece]["from_s"], transfer["start_s"], total):
                wrong("a transfer begins before there is room")
            tensor = pieces[piece].get("tensor")
            maker = makers.get(tensor)
            if source is None and maker in stored and later(stored[maker][1], transfer["start_s"], total):
                wrong(f"what op {maker} makes is read from the outermost memory before it is there")


def check_stores(schedule, ops, tiles):
    stored, stack_of = {}, {seq: mine[0]["stack"] for seq, mine in tiles.items()}
    for transfer in schedule["transfers"]:
        if transfer["fills"] or transfer.get("reads") is None:
            continue
        op = schedule["pieces"][transfer["reads"]]["op"]
        size, end = stored.get(op, (0, 0))
        stored[op] = (size + transfer["bytes"], max(end, transfer["end_s"]))
    readers = defaultdict(set)
    for seq, op in ops.items():
        for dep in op["deps"]:
            readers[dep].add(seq)
    for seq, mine in tiles.items():
        leaves = not readers[seq] or any(stack_of.get(r, stack_of[seq]) != stack_of[seq] for r in readers[seq])
        size = ops[seq]["bytes_written"]
        if leaves and stored.get(seq, (0, 0))[0] < size * (1 - CLOSE) - 1:
            wrong(f"op {seq}: {size} bytes leave its stack, {stored.get(seq, (0, 0))[0]} are stored")
    return stored


def check_memories(schedule):
    events = defaultdict(list)
    for piece in schedule["pieces"]:
        events[piece["memory"]] += [(piece["from_s"], 1, piece["bytes"]), (piece["until_s"], 0, -piece["bytes"])]
    for memory, list_of in events.items():
        room = schedule["memories"][memory]["capacity_bytes"]
        if sweep(list_of) > room * (1 + CLOSE):
            wrong(f"memory {memory} holds {sweep(list_of)} bytes of {room}")


def check_links(schedule):
    events, outermost = defaultdict(list), len(schedule["cores"])
    for transfer in schedule["transfers"]:
        ends = {schedule["memories"][schedule["pieces"][p]["memory"]]["core"] for p in transfer["fills"]}
        names = [c["core"] for c in schedule["cores"]]
        ends = {names.index(e) for e in ends} or {outermost}
        links = {link for end in ends for link in schedule["ways"][transfer["from"]][end]}
        moved = 0.0
        for start, end, rate in transfer["rates"]:
            moved += rate * (end - start)
            if later(transfer["start_s"], start, schedule["time_s"]) or later(end, transfer["end_s"], schedule["time_s"]):
                wrong("a transfer moves bytes before it begins or after it ends")
            for link in links:
                events[link] += [(start, 1, rate), (end, 0, -rate)]
        if links and abs(moved - transfer["bytes"]) > 1e-6 * transfer["bytes"] + 1e-3:
            wrong(f"a transfer of {transfer['bytes']} bytes moves {moved}")
    for link, list_of in events.items():
        if sweep(list_of) > schedule["links"][link]["bandwidth_Bps"] * (1 + 1e-6):
            wrong(f"link {link} carries {sweep(list_of)} B/s of {schedule['links'][link]['bandwidth_Bps']}")


def main():
    with open(sys.argv[1]) as file:
        schedule = json.load(file)
    with open(sys.argv[2]) as file:
        ops = {op["seq"]: op for op in map(json.loads, file)}
    peak = float(sys.argv[3]) if len(sys.argv) > 3 else 0
    check_cores(schedule, peak)
    tiles = check_work(schedule, ops, peak)
    stored = check_stores(schedule, ops, tiles)
    check_reads(schedule, ops, stored)
    check_memories(schedule)
    check_links(schedule)
    ends = [t["end_s"] for t in schedule["tiles"] + schedule["transfers"]]
    if abs(max(ends) - schedule["time_s"]) > CLOSE * schedule["time_s"]:
        wrong(f"the step takes {schedule['time_s']}, its last part ends at {max(ends)}")
    for text in problems[:10]:
        print(text)
    print(f"{len(schedule['tiles'])} tiles, {len(schedule['transfers'])} transfers: {len(problems)} wrong")
    return 1 if problems else 0


sys.exit(main())
