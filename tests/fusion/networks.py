#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the two networks of Stream's hardware test (Symons et al., tests/test_hardware_combinations.py of its
version 1.13) as ONNX, in bf16, the second also of the 16 rows that Stream takes of it at a time (rows16), and a small one
like it (gated): networks.py FOLDER makes NAME.onnx of each there; networks.py FOLDER HEADS TOKENS WIDTH attention.onnx. Weights have shapes alone; their data would lie in a file that nobody reads."""
import sys

BF16 = 16  # TensorProto.DataType


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def tensor(name, dims):
    """A TensorProto whose data are external (data_location 1)."""
    body = b"".join(number(1, d) for d in dims) + number(2, BF16) + block(8, name)
    return body + block(13, block(1, "location") + block(2, "weights.bin")) + number(14, 1)


def value(name, dims):
    shape = b"".join(block(1, number(1, d)) for d in dims)
    return block(1, name) + block(2, block(1, number(1, BF16) + block(2, shape)))


def ints(name, values):
    return block(5, block(1, name) + b"".join(number(8, v) for v in values) + number(20, 7))


def integer(name, value):
    return block(5, block(1, name) + number(3, value) + number(20, 2))


def node(kind, inputs, outputs, attributes=b""):
    body = b"".join(block(1, i) for i in inputs) + b"".join(block(2, o) for o in outputs)
    return block(1, body + block(3, outputs[0]) + block(4, kind) + attributes)


def model(name, nodes, weights, inputs, outputs):
    graph = b"".join(nodes) + block(2, name)
    graph += b"".join(block(5, tensor(*w)) for w in weights)
    graph += b"".join(block(11, value(*i)) for i in inputs) + b"".join(block(12, value(*o)) for o in outputs)
    return number(1, 8) + block(7, graph) + block(8, block(1, "") + number(2, 17))


def two_conv():
    same = ints("kernel_shape", [3, 3]) + ints("pads", [1, 1, 1, 1])
    nodes = [node("Conv", ["x", "w1"], ["y"], same), node("Conv", ["y", "w2"], ["z"], same)]
    weights = [("w1", [16, 8, 3, 3]), ("w2", [32, 16, 3, 3])]
    return model("two_conv", nodes, weights, [("x", [1, 8, 32, 32])], [("z", [1, 32, 32, 32])])


def gated_layer(name, rows, width, hidden):
    nodes = [
        node("MatMul", ["x", "left"], ["a"]),
        node("MatMul", ["x", "right"], ["b"]),
        node("Sigmoid", ["a"], ["s"]),
        node("Mul", ["a", "s"], ["silu"]),
        node("Mul", ["silu", "b"], ["h"]),
        node("MatMul", ["h", "down"], ["y"]),
    ]
    weights = [("left", [width, hidden]), ("right", [width, hidden]), ("down", [hidden, width])]
    return model(name, nodes, weights, [("x", [rows, width])], [("y", [rows, width])])


def bottleneck():
    """Many channels between two convolutions, the second of windows."""
    same = ints("kernel_shape", [3, 3]) + ints("pads", [1, 1, 1, 1])
    nodes = [node("Conv", ["x", "w1"], ["a"], ints("kernel_shape", [1, 1])), node("Relu", ["a"], ["r"]),
             node("Conv", ["r", "w2"], ["y"], same)]
    weights = [("w1", [1024, 64, 1, 1]), ("w2", [64, 1024, 3, 3])]
    return model("bottleneck", nodes, weights, [("x", [1, 64, 14, 14])], [("y", [1, 64, 14, 14])])


def inverted():
    """The same around a convolution of each channel by itself."""
    point = ints("kernel_shape", [1, 1])
    same = ints("kernel_shape", [3, 3]) + ints("pads", [1, 1, 1, 1]) + integer("group", 768)
    nodes = [node("Conv", ["x", "w1"], ["a"], point), node("Conv", ["a", "w2"], ["b"], same), node("Relu", ["b"], ["r"]),
             node("Conv", ["r", "w3"], ["y"], point)]
    weights = [("w1", [768, 96, 1, 1]), ("w2", [768, 1, 3, 3]), ("w3", [96, 768, 1, 1])]
    return model("inverted", nodes, weights, [("x", [1, 96, 14, 14])], [("y", [1, 96, 14, 14])])


def swiglu():
    return gated_layer("swiglu", 256, 2048, 8192)


def rows16():
    return gated_layer("rows16", 16, 2048, 8192)


def gated():
    return gated_layer("gated", 64, 128, 2048)


def attention(heads, tokens, width):
    """Scores, softmax, weighted values, of so many heads."""
    nodes = [
        node("MatMul", ["q", "k"], ["s"]),
        node("Softmax", ["s"], ["p"]),
        node("MatMul", ["p", "v"], ["o"]),
    ]
    inputs = [("q", [heads, tokens, width]), ("k", [heads, width, tokens]), ("v", [heads, tokens, width])]
    return model("attention", nodes, [], inputs, [("o", [heads, tokens, width])])


def main():
    folder, *sizes = sys.argv[1:]
    if sizes:
        with open(f"{folder}/attention.onnx", "wb") as file:
            file.write(attention(*map(int, sizes)))
        return
    for make in (two_conv, bottleneck, inverted, swiglu, rows16, gated):
        with open(f"{folder}/{make.__name__}.onnx", "wb") as file:
            file.write(make())


main()
