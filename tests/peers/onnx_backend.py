# SPDX-License-Identifier: Apache-2.0
"""onnx_backend.py FOLDER: writes the node tests that the installed onnx package makes as FOLDER/NAME/model.onnx."""
import os
import sys
import warnings

import numpy

warnings.simplefilter("ignore")
for name, what in (("bool", bool), ("object", object), ("int", int), ("float", float)):
    if name not in numpy.__dict__:
        setattr(numpy, name, what)  # removed in NumPy 1.24, used by onnx 1.12

from onnx.backend.test.case.node import collect_testcases  # noqa: E402

try:
    cases = collect_testcases(None)  # up to now, a type of operator; None is all
except TypeError:
    cases = collect_testcases()
for case in cases:
    os.makedirs(os.path.join(sys.argv[1], case.name), exist_ok=True)
    with open(os.path.join(sys.argv[1], case.name, "model.onnx"), "wb") as file:
        file.write(case.model.SerializeToString())
