# SPDX-License-Identifier: Apache-2.0
"""torch_transformer.py FOLDER THREADS OUR_SECONDS: the layer that transformer_layer left in the folder, by
PyTorch: in doubles results and gradients within 1e-4 of the largest, in floats the ratio of step times."""
import statistics
import sys
import time
from pathlib import Path

import numpy
import torch
from torch.nn.functional import layer_norm

HEADS, EPSILON, TOLERANCE, RUNS = 8, 1e-6, 1e-4, 9

folder, threads, ours_s = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
torch.set_num_threads(threads)
arrays = {path.stem: torch.from_numpy(numpy.load(path)) for path in folder.glob("*.npy")}
asked = [name for name in arrays if "gradient." + name in arrays]
for name in asked:
    arrays[name].requires_grad_(True)


def dense(x, name):
    return x @ arrays[name + ".weights"] + arrays[name + ".biases"]


def norm(x, name):
    return layer_norm(x, x.shape[-1:], arrays[name + ".scale"], arrays[name + ".bias"], EPSILON)


def heads(x):
    return x.view(*x.shape[:2], HEADS, -1).transpose(1, 2)


def layer(x):
    parts = dense(norm(x, "layer.self_attention.norm"), "layer.self_attention.query_key_value")
    query, key, value = (heads(part) for part in parts.chunk(3, dim=-1))
    scores = query @ key.transpose(2, 3) * query.shape[-1] ** -0.5 + arrays["bias"]
    seen = (scores.softmax(-1) @ value).transpose(1, 2).flatten(2)
    x = x + dense(seen, "layer.self_attention.output")
    inner = dense(norm(x, "layer.feed_forward.norm"), "layer.feed_forward.inner").relu()
    return x + dense(inner, "layer.feed_forward.outer")


def step():
    for name in asked:
        arrays[name].grad = None
    y = layer(arrays["x"])
    (y * arrays["factors"]).sum().backward()
    return y


y = step()
worst = 0.0
for name, found, wanted in [("y", arrays["y"], y.detach())] + [
    (name, arrays["gradient." + name], arrays[name].grad) for name in asked
]:
    off = ((found - wanted).abs().max() / wanted.abs().max()).item()
    worst = max(worst, off)
    if not off <= TOLERANCE:
        print(f"{name}: off by {off:.2e} of the largest")
print(f"{len(asked)} gradients and the result: off by at most {worst:.2e} of the largest")

arrays = {name: array.detach().float() for name, array in arrays.items()}
for name in asked:
    arrays[name].requires_grad_(True)
times = []
for _ in range(RUNS):
    start = time.perf_counter()
    step()
    times.append(time.perf_counter() - start)
theirs_s = statistics.median(times)
print(f"a step: ours {ours_s * 1e3:.2f} ms, theirs {theirs_s * 1e3:.2f} ms, ratio {ours_s / theirs_s:.2f}")
sys.exit(0 if worst <= TOLERANCE and len(asked) == 13 else 1)
