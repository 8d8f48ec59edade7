# SPDX-License-Identifier: Apache-2.0
"""Calls through pointers that a program asks for by name while it runs, as ctypes and cffi do."""
import ctypes
import sys

from foreign import PYTHON, SKIPPED, record

PROGRAM = """
import ctypes
blas = ctypes.CDLL("libopenblas.so.0")
n = 16
matrix = (ctypes.c_double * (n * n))(*[1.0] * (n * n))
result = (ctypes.c_double * (n * n))()
product = blas.cblas_dgemm
product.argtypes = [ctypes.c_int] * 6 + [ctypes.c_double, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p,
                                         ctypes.c_int, ctypes.c_double, ctypes.c_void_p, ctypes.c_int]
for _ in range(10):
    product(101, 111, 111, n, n, n, 1.0, matrix, n, matrix, n, 0.0, result, n)
assert result[0] == n
"""
try:
    ctypes.CDLL("libopenblas.so.0")
except OSError:
    print("there is no libopenblas.so.0: skipped")
    sys.exit(SKIPPED)
flops, counts = record(PYTHON, "-c", PROGRAM)
assert flops == 10 * 2 * 16**3, flops
assert counts["matmul"] == 10, counts
