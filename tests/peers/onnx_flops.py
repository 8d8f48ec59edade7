# SPDX-License-Identifier: Apache-2.0
"""onnx_flops.py LEADLINE FOLDER: FLOPs of the GEMMs and convolutions of each FOLDER/*/model.onnx that has some, counted
by the standard's definitions from the shapes that the onnx package infers, against those of its import."""
import glob
import json
import math
import os
import subprocess
import sys
import tempfile

import onnx

GEMMS = {"MatMul": (0, 1), "MatMulInteger": (0, 1), "QLinearMatMul": (0, 3)}
CONVS = {"Conv": (0, 1), "ConvInteger": (0, 1), "QLinearConv": (0, 3)}
# what multiplies besides, and is not counted here
OTHERS = {"Attention", "Einsum", "LSTM", "GRU", "RNN", "DeformConv", "AffineGrid", "Loop", "Scan", "If", "Det",
          "LinearAttention", "CausalConvWithState", "SequenceMap"}


def attribute(node, name, otherwise):
    for one in node.attribute:
        if one.name == name:
            return onnx.helper.get_attribute_value(one)
    return otherwise


def flops_of(node, shapes):
    """FLOPs of a node, None where a shape is not known."""
    shape = [shapes.get(name) for name in node.input]
    out = shapes.get(node.output[0])
    if node.op_type in GEMMS:
        a, b = (shape[i] for i in GEMMS[node.op_type])
        if a is None or b is None:
            return None
        m, k = (a[-2] if len(a) > 1 else 1), a[-1]
        n = b[-1] if len(b) > 1 else 1
        stacks = [1] * 8
        for one in (a[:-2], b[:-2]):
            for i, extent in enumerate(reversed(one)):
                stacks[i] = max(stacks[i], extent)
        return 2 * math.prod(stacks) * m * n * k
    if node.op_type == "Gemm":
        a, b = shape[:2]
        if a is None or b is None:
            return None
        m, k = (a[1], a[0]) if attribute(node, "transA", 0) else a
        return 2 * m * k * b[0 if attribute(node, "transB", 0) else 1]
    if node.op_type in CONVS:
        w = shape[CONVS[node.op_type][1]]
        return None if w is None or out is None else 2 * math.prod(out) * math.prod(w[1:])
    if node.op_type == "ConvTranspose":
        x, w = shape[:2]
        return None if x is None or w is None else 2 * math.prod(x) * math.prod(w[1:])
    return 0


def counted(model):
    """FLOPs of all GEMMs and convolutions of a model; None where they cannot be told, 0 where there are none."""
    shapes = {t.name: list(t.dims) for t in model.graph.initializer}
    inferred = onnx.shape_inference.infer_shapes(model).graph
    for info in list(inferred.input) + list(inferred.output) + list(inferred.value_info):
        tensor = info.type.tensor_type
        if tensor.HasField("shape") and all(d.HasField("dim_value") for d in tensor.shape.dim):
            shapes[info.name] = [d.dim_value for d in tensor.shape.dim]
    fixed = {t.name for t in model.graph.initializer}
    total = 0
    for node in model.graph.node:
        if node.op_type in OTHERS or node.op_type in {f.name for f in model.functions}:
            return None
        constant = node.op_type == "Constant" or (len(node.input) > 0 and all(n in fixed for n in node.input))
        if constant:
            fixed.update(node.output)
        one = 0 if constant else flops_of(node, shapes)
        if one is None:
            return None
        total += one
    return total


def imported(leadline, path, trace):
    """FLOPs of the matrix and convolution ops of an import, None where it is refused."""
    if subprocess.run([leadline, "import", "onnx", path, "-o", trace], capture_output=True).returncode != 0:
        return None
    text = subprocess.run([leadline, "info", "--json", trace], capture_output=True, check=True).stdout
    return sum(kind["flops"] for kind in json.loads(text)["by_kind"] if kind["class"] in ("matrix", "conv"))


def main():
    equal = wrong = 0
    with tempfile.TemporaryDirectory() as work:
        for path in sorted(glob.glob(os.path.join(sys.argv[2], "*", "model.onnx"))):
            try:
                expected = counted(onnx.load(path))
            except Exception as trouble:  # what the package itself cannot read
                expected = None
                print(f"{path}: {trouble}".split("\n")[0][:200], file=sys.stderr)
            got = imported(sys.argv[1], path, os.path.join(work, "t.llt")) if expected else None
            if got is None:
                continue
            equal += got == expected
            if got != expected:
                wrong += 1
                print(f"{os.path.basename(os.path.dirname(path))}: {got} FLOPs, {expected} by definition")
    print(f"FLOPs of GEMMs and convolutions are equal in {equal} of {equal + wrong} models")
    return 1 if wrong or not equal else 0


sys.exit(main())
