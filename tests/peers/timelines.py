#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""timelines.py LEADLINE [FOLDER]: what a replay says of recorded timelines, against a count that shares nothing with it.

Of each NAME.json[.gz] of FOLDER, profiles of PyTorch, `import` and `sim --as-recorded` must give the span within 0.5 %
and busy, idle, exposed and other times within 1 % of what intervals in the file itself give, merged here as
TraceLens merges them (AMD-AGI/TraceLens, GPUEventAnalyser: kernels and fills compute, names with nccl communicate, events
count whose correlation is that of a call of the driver), and of NAME.timeline.csv where that stands beside it (columns
type, time ms). A difference under 1 ns is none: TraceLens adds up microseconds in doubles. Without FOLDER random timelines
are made: several streams and threads, waits, events that were launched before. 77 where FOLDER is not there.
"""
import csv
import glob
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile

LAUNCHES = ("cuda_runtime", "cuda_driver")
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
NAMES = {
    "total_time": "time_s",
    "busy_time": "busy_s",
    "idle_time": "idle_s",
    "computation_time": "computation_s",
    "exposed_comm_time": "exposed_communication_s",
    "exposed_memcpy_time": "exposed_copy_s",
    "total_comm_time": "communication_s",
    "total_memcpy_time": "copy_s",
}


def nanoseconds(microseconds):
    return round(float(microseconds) * 1000)


def length(stretches):
    """How long any of them lasts."""
    total, end = 0, None
    for begin, finish in sorted(stretches):
        if end is None or begin > end:
            total += finish - begin
            end = finish
        elif finish > end:
            total += finish - end
            end = finish
    return total


def count(events):
    complete = [e for e in events if e.get("ph") == "X"]
    calls = {e["args"].get("correlation") for e in complete if e.get("cat") in LAUNCHES and "args" in e}
    device = [e for e in complete if e.get("cat") in DEVICE]
    here = [e for e in device if not calls or e["args"].get("correlation") in calls]
    kinds = {"copy": [], "exchange": [], "compute": []}
    for e in here:
        kind = "copy" if e["cat"] == "gpu_memcpy" else "exchange" if "nccl" in e["name"] else "compute"
        begin = nanoseconds(e["ts"])
        kinds[kind].append((begin, begin + nanoseconds(e["dur"])))
    compute, exchange, copy = kinds["compute"], kinds["exchange"], kinds["copy"]
    everything = compute + exchange + copy
    span = max(end for _, end in everything) - min(begin for begin, _ in everything)
    busy = length(everything)
    times = {
        "time_s": span,
        "busy_s": busy,
        "idle_s": span - busy,
        "computation_s": length(compute),
        "communication_s": length(exchange),
        "exposed_communication_s": length(compute + exchange) - length(compute),
        "copy_s": length(copy),
        "exposed_copy_s": busy - length(compute + exchange),
    }
    return {key: time * 1e-9 for key, time in times.items()}, len(device) - len(here)


def differs(ours, theirs, share):
    return abs(ours - theirs) > max(1e-9, share * abs(theirs))


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.returncode}\n{done.stderr}")
    return done.stdout


def check(leadline, path, tree):
    trace = os.path.join(tree, "trace.llt")
    run(leadline, "import", "pytorch-profile", path, "-o", trace)
    result = json.loads(run(leadline, "sim", "--as-recorded", "--json", trace))["results"][0]
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path) as file:
        events = json.load(file)
    times, unlaunched = count(events if isinstance(events, list) else events["traceEvents"])
    wrong = []
    if result["unlaunched"]["count"] != unlaunched:
        wrong.append(f"unlaunched: {result['unlaunched']['count']}, not {unlaunched}")
    beside = path.split(".json")[0] + ".timeline.csv"
    if os.path.exists(beside):
        with open(beside, encoding="utf-8") as file:
            for row in csv.DictReader(file):
                times[NAMES[row["type"]]] = float(row["time ms"]) * 1e-3
    for key, time in times.items():
        if differs(result[key], time, 0.005 if key == "time_s" else 0.01):
            wrong.append(f"{key}: {result[key]}, not {time}")
    if differs(sum(piece["time_s"] for piece in result["critical_path"]), result["time_s"], 1e-6):
        wrong.append("the pieces of the critical path do not sum to the span")
    twice = json.loads(run(leadline, "sim", "--as-recorded", "--json", "--scale", "*=2", trace))["results"][0]
    if twice["time_s"] < result["time_s"] or twice["time_s"] > 2 * result["time_s"] + 1e-9:
        wrong.append(f"with kernels twice as long: {twice['time_s']} of {result['time_s']}")
    for line in wrong:
        print(f"{path}: {line}")
    return not wrong


def predict(leadline, folder, tree):
    """Of h100_NAME and mi300_NAME, one program on two devices: the first one simulated on the second one's device takes
    what its kernels computed there, within 20 %."""
    good = True
    for path in sorted(glob.glob(os.path.join(folder, "mi300_*.timeline.csv"))):
        other = os.path.join(folder, "h100_" + os.path.basename(path)[len("mi300_"):].replace(".timeline.csv", ".json.gz"))
        if not os.path.exists(other):
            continue
        trace = os.path.join(tree, "other.llt")
        run(leadline, "import", "pytorch-profile", other, "-o", trace)
        time_s = json.loads(run(leadline, "sim", "-c", "mi300x", "--json", trace))["results"][0]["time_s"]
        with open(path, encoding="utf-8") as file:
            measured_s = next(float(row["time ms"]) for row in csv.DictReader(file) if row["type"] == "computation_time") * 1e-3
        print(f"{other} on MI300X: {1e3 * time_s:.1f} ms, measured {1e3 * measured_s:.1f} ms ({time_s / measured_s - 1:+.1%})")
        good = good and not differs(time_s, measured_s, 0.2)
    return good


def event(category, name, thread, start_ns, duration_ns, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": thread, "ts": start_ns / 1000, "dur": duration_ns / 1000, "args": args}


def make(path, seed):
    """Calls on two threads launch on four streams, as a driver does: what is launched waits for its stream. One thread
    works at a time."""
    dice = random.Random(seed)
    events, host, streams, number = [], 1000, [0] * 4, 1
    for i in range(dice.randint(1, 20)):
        events.append(event("kernel", "before", 7, 10 * i, 9, device=0, stream=7, correlation=100000 + i))
    for _ in range(dice.randint(5, 300)):
        thread, stream = dice.randrange(2), dice.randrange(4)
        host += dice.randrange(1, 5000)
        wait = dice.random() < 0.05
        if wait:
            host = max(host, max(streams))
        events.append(event("cuda_runtime", "cudaDeviceSynchronize" if wait else "cudaLaunchKernel", thread, host, 300, correlation=number))
        start = max(host + dice.randrange(200, 3000), streams[stream])
        category = dice.choice(DEVICE)
        name = dice.choice(["gemm", "softmax", "ncclDevKernel_AllReduce"]) if category == "kernel" else "Mem"
        duration = dice.randrange(0, 20000)
        if not wait:
            events.append(event(category, name, stream, start, duration, device=0, stream=stream, correlation=number))
            streams[stream] = start + duration + dice.randrange(2) * 100
        host += 300
        number += 1
    dice.shuffle(events)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(VARIANTS[seed % len(VARIANTS)](events, dice), file)


def plain(events, _):
    return {"traceEvents": events}


def below_zero(events, _):
    """Times count from a base time in the middle."""
    middle = sorted(e["ts"] for e in events)[len(events) // 2]
    for e in events:
        e["ts"] = round(e["ts"] - middle, 3)
    return {"baseTimeNanoseconds": round(1000 * middle), "traceEvents": events}


def texts(events, _):
    """Numbers stand in texts."""
    for e in events:
        e["ts"], e["dur"] = f"{1.7e15 + e['ts']:.15e}", str(e["dur"])
    return events


def with_operators(events, dice):
    """Two devices, steps, operators whose arguments nobody can read."""
    shapes = ["", None, [[2, 3]], [[2] * 12], [[[[4]]]], [[2, 3], [3, 4]]]
    for e in list(events):
        if e["cat"] in DEVICE and dice.random() < 0.3:
            e["args"].update(device=1, stream=e["args"]["stream"] + 20)
        if e["cat"] in LAUNCHES:
            operator = event("cpu_op", dice.choice(["aten::mm", "mine::kernel", "aten::add"]), e["tid"], 0, 0)
            operator.update(ts=round(e["ts"] - 0.05, 3), dur=round(e["dur"] + 0.1, 3), args={"Input Dims": dice.choice(shapes), "Input type": ["float", "float"]})
            events.append(operator)
    first, last = min(e["ts"] for e in events), max(e["ts"] for e in events)
    for step in range(3):
        begin, width = first + (last - first) * step / 3, (last - first) / 3.1
        mark = event("user_annotation", f"ProfilerStep#{step + 4}", 0, 0, 0)
        mark.update(ts=round(begin, 3), dur=round(width, 3))
        events.append(mark)
    return {"schemaVersion": 1, "distributedInfo": {"rank": 3, "world_size": 8}, "deviceProperties": [{"id": 1}], "traceEvents": events}


def graphs(events, dice):
    """Kernels of one call, that run beside each other on one stream."""
    kernels = sorted((e for e in events if e["cat"] == "kernel"), key=lambda e: e["ts"])
    for i in range(0, len(kernels) - 6, 12):
        for k in kernels[i : i + 6]:
            k["args"].update(correlation=kernels[i]["args"]["correlation"])
            k["args"]["graph node id"] = i
            k["dur"] = round(k["dur"] * dice.choice([1, 1.5]), 3)
    return {"traceEvents": events}


def strangers(events, _):
    """Events of other kinds between them, and keys that nobody knows."""
    for at, e in enumerate(
        [
            {},
            {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": None}},
            {"ph": "i", "s": "g", "name": "Record Window End", "ts": 1},
            {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "x", "ts": 1, "dur": 1e9, "args": {"Op count": 0}},
            {"ph": "X", "cat": "gpu_user_annotation", "name": "nccl", "pid": 0, "tid": 7, "ts": 1, "dur": 10, "args": None},
            {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 1, "pid": 0, "tid": 7, "ts": 1},
        ]
    ):
        events.insert(at * 3, e)
    return {"traceName": "x", "with_flops": 0, "traceEvents": events}


VARIANTS = (plain, below_zero, texts, with_operators, graphs, strangers)


def main():
    leadline, folder = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else os.environ.get("LL_TIMELINES")
    with tempfile.TemporaryDirectory() as tree:
        if folder:
            paths = sorted(glob.glob(os.path.join(folder, "*.json*")))
            if not paths:
                print(f"there are no timelines in {folder}")
                return 77
        else:
            paths = [os.path.join(tree, f"made_{seed}.json") for seed in range(20)]
            for seed, path in enumerate(paths):
                make(path, seed)
        good = [check(leadline, path, tree) for path in paths]
        predicted = predict(leadline, folder, tree) if folder else True
    print(f"{sum(good)} of {len(good)} timelines")
    return 0 if all(good) and predicted else 1


if __name__ == "__main__":
    sys.exit(main())
