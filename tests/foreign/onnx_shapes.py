# SPDX-License-Identifier: Apache-2.0
"""Networks of one operator, as ONNX's own package writes them: imported, their results have the shapes that its
inference of shapes gives. 77 where the package is missing."""
import json
import os
import subprocess
import sys
import tempfile

import foreign

try:
    import onnx
except ImportError:
    foreign.needs("onnx")
    os.execv(foreign.PYTHON, [foreign.PYTHON, *sys.argv])
from onnx import TensorProto as T, helper, shape_inference

F, U8, I8, I64 = T.FLOAT, T.UINT8, T.INT8, T.INT64
SCALE, ZERO, WEIGHT_ZERO = ("s", F, []), ("z", U8, []), ("zw", I8, [])
QUANTIZED = ["x", "s", "z", "w", "s", "zw", "s", "z"]


def convolution(operator, image, kernel, **attributes):
    return operator, attributes, [("x", F, image)], [("w", F, kernel)], ["x", "w"]


ROWS = [
    *(convolution("ConvTranspose", [1, 2, 5, 7], [2, 3, 3, 3], auto_pad=pad, strides=[3, 2], dilations=[1, 2])
      for pad in ("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET")),
    convolution("ConvTranspose", [1, 4, 5], [4, 3, 5], auto_pad="SAME_UPPER", strides=[3], group=2),
    convolution("ConvTranspose", [1, 1, 3, 3], [1, 2, 3, 3], output_shape=[10, 8], strides=[3, 2]),
    convolution("ConvTranspose", [1, 1, 3, 3], [1, 2, 3, 3], output_padding=[1, 1], strides=[3, 2],
                pads=[1, 1, 1, 1]),
    *(convolution("Conv", [1, 4, 9, 10], [6, 2, 3, 3], auto_pad=pad, strides=[2, 3], group=2)
      for pad in ("SAME_UPPER", "SAME_LOWER", "VALID")),
    ("QLinearConv", {"strides": [2, 2], "group": 2}, [("x", U8, [1, 4, 9, 9])],
     [("w", I8, [6, 2, 3, 3]), SCALE, ZERO, WEIGHT_ZERO], QUANTIZED),
    ("ConvInteger", {"pads": [1, 1, 0, 0]}, [("x", U8, [1, 4, 9, 9])], [("w", I8, [6, 4, 3, 3])], ["x", "w"]),
    ("QLinearMatMul", {}, [("x", U8, [2, 4, 9])], [("w", I8, [9, 6]), SCALE, ZERO, WEIGHT_ZERO], QUANTIZED),
    ("MatMulInteger", {}, [("x", U8, [2, 3, 4, 9]), ("w", I8, [1, 3, 9, 5])], [], ["x", "w"]),
    ("GatherND", {"batch_dims": 2}, [("x", F, [2, 3, 4, 5, 6]), ("i", I64, [2, 3, 7, 1])], [], ["x", "i"]),
    ("GatherND", {}, [("x", F, [2, 3, 4]), ("i", I64, [7, 2])], [], ["x", "i"]),
    ("BatchNormalization", {}, [("x", F, [2, 3, 4, 5])], [(name, F, [3]) for name in "sbmv"], list("xsbmv")),
]


def expected(model):
    tensor = shape_inference.infer_shapes(model, strict_mode=True).graph.output[0].type.tensor_type
    return [dim.dim_value for dim in tensor.shape.dim]


def imported(model, folder):
    """The dimensions of what the last op makes."""
    network, trace = os.path.join(folder, "n.onnx"), os.path.join(folder, "n.llt")
    onnx.save(model, network)
    subprocess.run([sys.argv[1], "import", "onnx", network, "-o", trace], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    done = subprocess.run([sys.argv[1], "dump", trace], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])["outputs"][0]["dims"]


def channels_last(dims):
    """As images are in traces; a signal is one of height 1."""
    sides = dims[2:] if len(dims) == 4 else [1, *dims[2:]]
    return [dims[0], *sides, dims[1]] if len(dims) in (3, 4) else dims


def main():
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for operator, attributes, inputs, constants, names in ROWS:
            sizes = {F: 4, U8: 1, I8: 1, I64: 8}
            weights = [helper.make_tensor(name, kind, dims, bytes(sizes[kind] * int(elements(dims))), raw=True)
                       for name, kind, dims in constants]
            graph = helper.make_graph([helper.make_node(operator, names, ["y"], **attributes)], "one",
                                      [helper.make_tensor_value_info(*value) for value in inputs],
                                      [helper.make_tensor_value_info("y", F if inputs[0][1] == F else 0, None)],
                                      weights)
            model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
            want, got = expected(model), imported(model, folder)
            if got not in (want, channels_last(want)):
                print(f"{operator} {attributes}: {got}, expected {want}")
                wrong += 1
    print(f"{len(ROWS)} networks, {wrong} wrong")
    return wrong > 0


def elements(dims):
    count = 1
    for dim in dims:
        count *= dim
    return count


sys.exit(main())
