# SPDX-License-Identifier: Apache-2.0
"""A step that a program left in a folder, computed again by PyTorch: in doubles results and gradients are within
1e-4 of the largest, in floats the ratio of step times is printed. A script imports this with FOLDER THREADS
OUR_SECONDS [ARGUMENTS...] on its command line, and says what a step is:

    torch_step.check(forward, runs)

forward(weights, dtype) gives results by their names, "loss" among them; weights are leaves by their names. What
has no gradient is read by `given`."""
import statistics
import sys
import time
from pathlib import Path

import numpy
import torch

TOLERANCE = 1e-4
NOTHING = 1e-9  # of the largest gradient: a bias of keys has none, as it moves all scores of a query alike

folder, threads, ours_s, arguments = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]
torch.set_num_threads(threads)
arrays = {path.name[:-4]: torch.from_numpy(numpy.load(path)) for path in folder.glob("*.npy")}
asked = [name for name in arrays if "gradient." + name in arrays]


def given(name, dtype):
    return arrays[name].to(dtype)


def step(forward, weights, dtype):
    for weight in weights.values():
        weight.grad = None
    results = forward(weights, dtype)
    results["loss"].backward()
    return results


def leaves(dtype):
    return {name: arrays[name].detach().to(dtype, copy=True).requires_grad_(True) for name in asked}


def compare(forward):
    """The largest difference, as a share of the largest value that it is among."""
    weights = leaves(torch.float64)
    results = step(forward, weights, torch.float64)
    pairs = [(name, arrays[name], results[name].detach()) for name in results if name in arrays]
    assert pairs, "no result was left"
    nothing = NOTHING * max(weight.grad.abs().max().item() for weight in weights.values())
    pairs += [(name, arrays["gradient." + name], weights[name].grad) for name in asked]
    worst = 0.0
    for name, found, wanted in pairs:
        off = ((found - wanted).abs().max() / max(wanted.abs().max(), nothing)).item()
        if not off <= TOLERANCE:
            print(f"{name}: off by {off:.2e} of the largest")
        worst = max(worst, off)
    print(f"{len(asked)} gradients, {' and '.join(results)}: off by at most {worst:.2e} of the largest")
    return worst


def check(forward, runs, optimizer=None):
    """optimizer: of a list of weights, what updates them in a step of floats; None: the step has no update."""
    worst = compare(forward)
    weights, times = leaves(torch.float32), []
    update = optimizer(list(weights.values())) if optimizer else None
    for _ in range(runs):
        start = time.perf_counter()
        step(forward, weights, torch.float32)
        if update:
            update.step()
        times.append(time.perf_counter() - start)
    theirs_s = statistics.median(times)
    print(f"a step: ours {ours_s * 1e3:.1f} ms, theirs {theirs_s * 1e3:.1f} ms, ratio {ours_s / theirs_s:.2f}")
    sys.exit(0 if worst <= TOLERANCE and asked else 1)
