# SPDX-License-Identifier: Apache-2.0
"""Which part of an execution trace is a step (tracer/capture/pytorch/torch_trace.py), on traces made here, in both
formats; needs no PyTorch."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..", "tracer", "capture", "pytorch", "torch_trace.py")
FORMATS = {
    "1.0.1": '\n    {\n      "name": "%(name)s", "id": %(id)d, "rf_id": 0, "parent": %(parent)d, "scope": 0, "op_schema": "",\n'
             '      "inputs": [], "input_shapes": [], "input_types": [],\n      "outputs": []\n    }',
    "1.1.1": '\n      {\n        "id": %(id)d, "name": "%(name)s", "ctrl_deps": %(parent)d,\n'
             '        "inputs": {"values": [[1,2,0,4,4,"cpu"]], "shapes": [[4]], "types": ["Tensor(float)"], "strides": [[1]]},\n'
             '        "attrs": [{"name": "rf_id", "type": "uint64", "value": 0},{"name": "scope", "type": "uint64", "value": 0}]\n'
             '      }',
}


def load():
    names = {"__name__": "torch_trace"}
    with open(SOURCE, encoding="utf-8") as source:
        exec(compile(source.read(), SOURCE, "exec"), names)
    return names


def trace(program, form):
    """A trace of operators (names) and marks (pairs of what and who), an operator within each, and the marks."""
    nodes, labels, number = [("[pytorch|profiler|execution_trace|thread]", 2, 1)], [], 3
    for item in program:
        if isinstance(item, tuple):
            nodes.append(("leadline mark %d" % len(labels), number, 2))
            labels.append(item)
        else:
            nodes.append((item, number, 2))
            nodes.insert(len(nodes) - 1, ("within " + item, number + 1, number))  # what lies within ends first
        number += 5
    nodes.append(("[pytorch|profiler|execution_trace|process]", 1, 1))
    text = ",".join(FORMATS[form] % {"name": name, "id": one, "parent": parent} for name, one, parent in nodes)
    return '{\n  "schema": "%s", "pid": 1,\n  "nodes": [%s\n  ],\n  "finish_ts": 9\n}' % (form, text), labels


FAILED = []


def expect(taker, what, program, wanted, steps):
    for form in FORMATS:
        text, count, _ = taker["cut"](*trace(program, form))
        kept = [name for name in re.findall(r'"name": "([^"]*)"', text or "") if not name.startswith(("[", "rf_", "scope"))]
        kept = [name for name in kept if not name.startswith("within ")]
        if kept != wanted or count != steps:
            FAILED.append(what)
            print("%s, %s: %s of %s steps, expected %s of %s" % (what, form, kept, count, wanted, steps))
        if text and (not text.startswith('{\n  "schema"') or not text.endswith('"finish_ts": 9\n}')):
            FAILED.append(what)
            print("%s, %s: %s ... %s" % (what, form, text[:40], text[-40:]))


def main():
    taker = load()
    o, p, b, n = ("optimizer", 1), ("optimizer", 2), ("backward", 0), ("network", 0)
    step = [n, "forward", "grads", b, "update", o]
    expect(taker, "several steps, the first of which is longer", ["init"] + [n, "forward", "warm", b, "update", o] + 3 * step,
           ["forward", "grads", "update"], 4)
    expect(taker, "one step: without what made the network", ["init"] + step, ["forward", "grads", "update"], 1)
    expect(taker, "two optimizers, the first three times a step", 3 * (3 * ["critic", o] + ["maker", p]),
           ["critic", "critic", "critic", "maker"], 3)
    expect(taker, "a trace that ends within a step", 3 * (3 * ["critic", o] + ["maker", p]) + ["critic", o, "critic"],
           ["critic", "critic", "critic", "maker"], 3)
    expect(taker, "an epoch's end among steps", 2 * step + ["validate", "validate"] + 3 * step, ["forward", "grads", "update"], 5)
    expect(taker, "a loop without an optimizer", ["init"] + 4 * [n, "forward", n, "forward", b, "write"],
           ["write", "forward", "forward"], 4)
    expect(taker, "inference", ["init", "input"] + 3 * [n, "forward", "top", "input"], ["forward", "top", "input"], 3)
    expect(taker, "inference, the input first", 3 * ["input", n, "forward", "top"], ["forward", "top", "input"], 3)
    expect(taker, "inference twice, the input first", 2 * ["input", n, "forward"], ["forward", "input"], 2)
    expect(taker, "inference once", ["init", n, "forward", "top"], ["forward", "top"], 1)
    expect(taker, "inference of which the end is missing", [n, "forward", "top", n, "forward"], ["forward", "top"], 2)
    expect(taker, "operators alone, repeated", ["init", "init"] + 4 * ["mm", "tanh", "add"], ["mm", "tanh", "add"], 4)
    expect(taker, "operators alone, once", ["init", "mm", "tanh"], ["init", "mm", "tanh"], 1)
    expect(taker, "nothing at all", [], [], 0)
    for whole, cut in (('{"nodes": [', None), ("", None)):
        assert taker["cut"](whole, [])[0] is cut
    sys.exit(len(FAILED) > 0)


main()
