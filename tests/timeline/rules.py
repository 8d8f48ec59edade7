#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rules.py FILE.pftrace|FILE.json...: Perfetto's rules of a trace, and those of Chrome's trace events.

Each file must keep the rules of its format; all files together must say the same: the same processes, tracks,
slices with their arguments, flows and counters. Prints what there is, or the first breach of each file and
fails. Written against Perfetto's documentation (protos/perfetto/trace, "Synthetic traces") and Google's "Trace
Event Format", with a reader of the wire format of its own.
"""
import json
import struct
import sys


class Breach(Exception):
    pass


def need(holds, what):
    if not holds:
        raise Breach(what)


class Content:
    """What a timeline says, whatever the format."""

    def __init__(self):
        self.processes = []
        self.tracks = []    # (process, track)
        self.slices = []    # (process, track, begin, end, name, category, args)
        self.flows = []     # (process, track, begin of the slice) twice
        self.counters = []  # (process, group, name, unit, time, value)

    def sorted(self):
        return [sorted(part, key=repr) for part in
                (self.processes, self.tracks, self.slices, self.flows, self.counters)]

    def summary(self):
        names = {counter[:4] for counter in self.counters}
        return "%d processes, %d tracks, %d slices, %d flows, %d counters with %d values, %d ns" % (
            len(self.processes), len(self.tracks), len(self.slices), len(self.flows), len(names), len(self.counters),
            max((end for _, _, _, end, *_ in self.slices), default=0))


# --- Perfetto ---

def varint(data, at):
    value = shift = 0
    while True:
        need(at < len(data), "a varint is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
        need(shift < 70, "a varint of more than 64 bits")


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            need(at + 8 <= len(data), "eight bytes are cut off")
            value, at = data[at:at + 8], at + 8
        elif kind == 2:
            length, at = varint(data, at)
            need(at + length <= len(data), "a field of %d bytes is cut off" % length)
            value, at = data[at:at + length], at + length
        else:
            raise Breach("wire type %d" % kind)
        yield number, value


def message(data, known):
    """The fields of a message by name; `known` gives names by number, those of lists with a +."""
    found = {name.rstrip("+"): [] for name in known.values() if name.endswith("+")}
    for number, value in fields(data):
        need(number in known, "field %d is unknown" % number)
        name = known[number]
        if name.endswith("+"):
            found[name[:-1]].append(value)
        else:
            need(name not in found, "%s comes twice" % name)
            found[name] = value
    return found


PACKET = {6: "clocks", 8: "time", 10: "sequence", 11: "event", 12: "interned", 13: "flags", 60: "track"}
TRACK = {1: "uuid", 2: "name", 3: "process", 5: "parent", 8: "counter", 11: "ordering", 12: "rank"}
EVENT = {3: "categories+", 4: "args+", 9: "type", 10: "name", 11: "track", 44: "value", 47: "flows+", 48: "ends+"}
INTERNED = {1: "categories", 2: "names", 3: "arg names", 29: "texts"}


def text(data):
    return data.decode("utf-8")  # raises where it is none


class Perfetto:
    def __init__(self, data):
        self.content = Content()
        self.tracks = {}    # uuid -> fields, with its process
        self.last = {}      # by sequence: time of its last event
        self.interned = {}  # by sequence: {(kind, number): text}
        self.open = {}      # by track: slices
        self.leaving, self.ending = {}, {}
        self.primary = None
        for index, (number, value) in enumerate(fields(data)):
            need(number == 1, "field %d of the trace is no packet" % number)
            try:
                self.packet(message(value, PACKET))
            except (Breach, UnicodeDecodeError) as breach:
                raise Breach("packet %d: %s" % (index, breach))
        for uuid, slices in self.open.items():
            need(not slices, "track %d: a slice never ends" % uuid)
        need(self.leaving.keys() == self.ending.keys(), "flows with one end: %s" % sorted(
            self.leaving.keys() ^ self.ending.keys())[:5])
        for flow, begin in self.leaving.items():
            end = self.ending[flow]
            need(begin[0] < end[0] or (begin[0] == end[0] and begin[1] < end[1]),
                 "flow %d ends at %d ns before it begins at %d ns" % (flow, end[0], begin[0]))
            self.content.flows.append((begin[2:], end[2:]))

    def packet(self, packet):
        sequence = packet.get("sequence")
        need(sequence, "no sequence")
        if sequence not in self.interned:
            need(packet.get("flags", 0) & 1, "the first packet of sequence %d clears no state" % sequence)
        if packet.get("flags", 0) & 1:
            self.interned[sequence] = {}
        need(packet.get("flags", 0) & 2 or "interned" not in packet, "interned data without the flag")
        if "interned" in packet:
            self.intern(self.interned[sequence], packet["interned"])
        if "clocks" in packet:
            self.clocks(message(packet["clocks"], {1: "clocks+", 2: "primary"}))
        if "track" in packet:
            self.track(message(packet["track"], TRACK))
        if "event" in packet:
            need("time" in packet, "an event without time")
            need(self.primary, "an event before the clocks")
            need(packet["time"] >= self.last.get(sequence, 0), "sequence %d: time goes back from %d to %d ns" % (
                sequence, self.last.get(sequence, 0), packet["time"]))
            self.last[sequence] = packet["time"]
            self.event(message(packet["event"], EVENT), packet["time"], self.interned[sequence])

    def intern(self, known, data):
        for number, value in fields(data):
            need(number in INTERNED, "interned field %d is unknown" % number)
            entry = message(value, {1: "iid", 2: "name"})
            key = INTERNED[number], entry["iid"]
            need(entry["iid"] > 0, "number 0 is interned")
            need(known.get(key, entry["name"]) == entry["name"], "%s %d is defined twice" % key)
            known[key] = entry["name"]

    def clocks(self, snapshot):
        clocks = [message(clock, {1: "id", 2: "time"})["id"] for clock in snapshot["clocks"]]
        need(snapshot["primary"] in clocks, "the primary clock is not in the snapshot")
        self.primary = snapshot["primary"]

    def track(self, track):
        uuid = track.get("uuid")
        need(uuid and uuid not in self.tracks, "track %s is defined twice" % uuid)
        if "process" in track:
            process = message(track["process"], {1: "pid", 6: "name"})
            track["process"] = text(process["name"])
            need(process["pid"] > 0, "pid 0")
            self.content.processes.append(track["process"])
        else:
            need(track.get("parent") in self.tracks, "track %d has the unknown parent %s" % (uuid, track.get("parent")))
            parent = self.tracks[track["parent"]]
            track["process"] = parent["process"]
            track["name"] = text(track["name"])
            track["group"] = parent.get("name")
            need(track["name"], "track %d has no name" % uuid)
        if "counter" in track:
            unit = message(track["counter"], {3: "unit", 6: "unit name"})
            track["unit"] = "bytes" if unit.get("unit") == 3 else text(unit.get("unit name", b""))
            need(track["unit"], "counter %s has no unit" % track["name"])
        self.tracks[uuid] = track

    def event(self, event, time, interned):
        track = self.tracks.get(event.get("track"))
        need(track, "an event on the unknown track %s" % event.get("track"))

        def named(kind, number):
            need((kind, number) in interned, "%s %s is not defined" % (kind, number))
            return text(interned[(kind, number)])
        if event["type"] == 4:
            need("unit" in track, "a value on %s, which is no counter" % track["name"])
            value = struct.unpack("<d", event["value"])[0]
            self.content.counters.append((track["process"], track["group"], track["name"], track["unit"], time, value))
            return
        need("unit" not in track and event["type"] in (1, 2), "type %d on %s" % (event["type"], track["name"]))
        slices = self.open.setdefault(event["track"], [])
        if event["type"] == 2:
            need(slices, "an end without a begin on %s" % track["name"])
            begin, name, category, args = slices.pop()
            self.content.slices.append((track["process"], track["name"], begin, time, name, category, args))
            return
        args = {}
        for arg in event["args"]:
            arg = message(arg, {1: "name", 3: "count", 5: "number", 17: "text"})
            args[named("arg names", arg["name"])] = (
                named("texts", arg["text"]) if "text" in arg else
                struct.unpack("<d", arg["number"])[0] if "number" in arg else arg["count"])
        need(len(event["categories"]) == 1, "%d categories" % len(event["categories"]))
        slices.append((time, named("names", event["name"]), named("categories", event["categories"][0]), args))
        if (track["process"], track["name"]) not in self.content.tracks:
            self.content.tracks.append((track["process"], track["name"]))
        for end, flows in ((self.leaving, event["flows"]), (self.ending, event["ends"])):
            for flow in flows:
                flow = struct.unpack("<Q", flow)[0]
                need(flow > 0 and flow not in end, "flow %d has two ends of a kind" % flow)
                end[flow] = (time, len(self.content.slices) + sum(map(len, self.open.values())),
                             track["process"], track["name"], time)


# --- Chrome ---

def ns(us):
    return round(us * 1000)


class Chrome:
    def __init__(self, data):
        self.content = Content()
        self.processes, self.threads = {}, {}
        self.last = {}
        self.tracks = {}  # by pid and tid: slices (begin, end)
        self.leaving, self.ending = {}, {}
        document = json.loads(data)
        need(set(document) == {"displayTimeUnit", "traceEvents"}, "keys %s" % sorted(document))
        for index, event in enumerate(document["traceEvents"]):
            try:
                self.event(event)
            except Breach as breach:
                raise Breach("event %d: %s" % (index, breach))
        for track, slices in self.tracks.items():
            self.nest(track, slices)
        need(self.leaving.keys() == self.ending.keys(), "flows with one end")
        for flow, (begin, name, *at) in self.leaving.items():
            end, end_name, *to = self.ending[flow]
            need(name == end_name, "flow %d is of %s and %s" % (flow, name, end_name))
            need(begin <= end, "flow %d ends at %d ns before it begins at %d ns" % (flow, end, begin))
            self.content.flows.append((self.within(begin, at), self.within(end, to, True)))

    def nest(self, track, slices):
        enclosing = []
        for begin, end, _ in slices:
            while enclosing and enclosing[-1] <= begin:
                enclosing.pop()
            need(not enclosing or end <= enclosing[-1], "slices of track %s cross at %d ns" % (track, begin))
            enclosing.append(end)

    def within(self, time, key, exact=False):
        """The slice around a time that an end of a flow is bound to: process, track, begin."""
        track = tuple(key[:2])
        mine = key[2]
        begin, end, _ = self.tracks[track][mine]
        need(begin <= time < end or begin == end == time, "an end of a flow at %d ns is not in its slice" % time)
        need(not exact or begin == time, "a flow ends within a slice")
        return self.processes[track[0]], self.threads[track], begin

    def event(self, event):
        phase, pid, track = event["ph"], event["pid"], (event["pid"], event["tid"])
        if phase == "M":
            name = event["args"].get("name")
            if event["name"] == "process_name":
                need(pid not in self.processes, "process %d is named twice" % pid)
                self.processes[pid] = name
                self.content.processes.append(name)
            elif event["name"] == "thread_name":
                need(track not in self.threads, "track %s is named twice" % (track,))
                self.threads[track] = name
                self.content.tracks.append((self.processes[pid], name))
            else:
                need(event["name"] == "thread_sort_index", "metadata %s" % event["name"])
            return
        need(pid in self.processes, "process %d has no name" % pid)
        time = ns(event["ts"])
        if phase in "XC":
            need(time >= self.last.get(pid, 0), "process %d: time goes back to %d ns" % (pid, time))
            self.last[pid] = time
        if phase == "C":
            name, _, unit = event["name"].rpartition(" (")
            need(name and unit.endswith(")"), "counter %s has no unit" % event["name"])
            for series, value in event["args"].items():
                self.content.counters.append((self.processes[pid], *((None, name) if series == unit[:-1] else (name, series)),
                                              unit[:-1], time, value))
            return
        need(track in self.threads, "track %s has no name" % (track,))
        slices = self.tracks.setdefault(track, [])
        if phase == "X":
            end = time + ns(event["dur"])
            slices.append((time, end, event["name"]))
            self.content.slices.append((self.processes[pid], self.threads[track], time, end, event["name"],
                                        event["cat"], event["args"]))
            return
        need(phase in "sf", "phase %s" % phase)
        need(phase == "s" or event.get("bp") == "e", "a flow that ends at the next slice")
        ends = self.leaving if phase == "s" else self.ending
        need(event["id"] > 0 and event["id"] not in ends, "flow %d has two ends of a kind" % event["id"])
        ends[event["id"]] = (time, event["name"], *track, len(slices) - 1)


def values(content):
    """Counters as steps: in a group Chrome repeats what did not change."""
    last, steps = {}, []
    for process, group, name, unit, time, value in content.counters:
        key = (process, group, name, unit)
        if last.get(key) != value:
            steps.append((*key, time, value))
        last[key] = value
    return steps


def main(paths):
    contents = []
    for path in paths:
        with open(path, "rb") as file:
            data = file.read()
        try:
            content = (Chrome if path.endswith(".json") else Perfetto)(data).content
        except Breach as breach:
            sys.exit("%s: %s" % (path, breach))
        content.counters = values(content)
        contents.append(content)
    # A group is a name of its own in Perfetto, and None without one.
    for content, path in zip(contents[1:], paths[1:]):
        for mine, theirs in zip(content.sorted(), contents[0].sorted()):
            if mine != theirs:
                differing = [pair for pair in zip(mine, theirs) if pair[0] != pair[1]] or [(len(mine), len(theirs))]
                sys.exit("%s differs from %s: %s" % (path, paths[0], differing[0]))
    print(contents[0].summary())


if __name__ == "__main__":
    main(sys.argv[1:])
