# SPDX-License-Identifier: Apache-2.0
"""Every program of torch_flops.csv, recorded as it is: captured FLOPs within 0.1 % of the count on paper, the same
number of products and convolutions (which of the two computes a small convolution depends on the number of
threads), and a trace that simulates on four machines."""
import csv
import os
import sys

import foreign

PRODUCTS = ["matmul", "matmul_add"]
CONVOLUTIONS = ["conv2d", "conv2d_data_grad", "conv2d_filter_grad"]


def failures(row, here):
    flops, counts = foreign.record(foreign.PYTHON, os.path.join(here, "torch_program.py"), row["program"],
                                   machines=foreign.MACHINES)
    expected = float(row["gflop"]) * 1e9
    if abs(flops - expected) > 0.001 * expected:
        yield f"{flops:.6g} FLOP captured, {expected:.6g} on paper"
    seen = sum(counts.get(kind, 0) for kind in PRODUCTS + CONVOLUTIONS)
    if seen != int(row["products"]) + int(row["convolutions"]):
        yield f"{seen} products and convolutions, expected {row['products']} and {row['convolutions']}"


def main():
    foreign.needs("torch", "torchvision")
    here = os.path.dirname(os.path.abspath(__file__))
    failed = 0
    with open(os.path.join(here, "torch_flops.csv"), encoding="utf-8") as lines:
        for row in csv.DictReader(line for line in lines if not line.startswith("#")):
            for failure in failures(row, here):
                print(f"{row['program']}: {failure}")
                failed += 1
    sys.exit(failed > 0)


main()
