# SPDX-License-Identifier: Apache-2.0
"""torch_image_net.py FOLDER THREADS OUR_SECONDS MODEL: the step that image_net left in the folder, by PyTorch:
logits and gradients within 1e-4 of the largest, and the ratio of step times."""
import statistics
import sys
import time
from pathlib import Path

import numpy
import torch
from torch.nn import functional as F

EPSILON, TOLERANCE, RUNS = 2e-5, 1e-4, 3

folder, threads, ours_s, model = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
torch.set_num_threads(threads)
arrays = {path.name[:-4]: torch.from_numpy(numpy.load(path)) for path in folder.glob("*.npy")}
asked = [name for name in arrays if "gradient." + name in arrays]


class Weights:
    """The network's weights in one precision, by name."""

    def __init__(self, dtype):
        self.of = {name: arrays[name].detach().to(dtype, copy=True).requires_grad_(True) for name in asked}
        self.images = arrays["images"].to(dtype).permute(0, 3, 1, 2).contiguous()

    def conv(self, x, name, stride=1, padding=0):
        return F.conv2d(x, self.of[name + ".weights"].permute(3, 2, 0, 1), None, stride, padding)

    def norm(self, x, name):
        gamma, beta = self.of.get(name + ".gamma"), self.of[name + ".beta"]
        return F.batch_norm(x, None, None, gamma, beta, True, 0, EPSILON)

    def logits(self, x):
        return x.mean((2, 3)) @ self.of["fc.weights"] + self.of["fc.biases"]


def resnet(w):
    def activated(x, name):
        return w.norm(x, name).relu()

    def unit(x, name, stride, first):
        a = activated(x, name + ".norm1")
        y = activated(w.conv(a, name + ".conv1"), name + ".norm2")
        y = activated(w.conv(y, name + ".conv2", stride, 1), name + ".norm3")
        return w.conv(y, name + ".conv3") + (w.conv(a, name + ".shortcut", stride) if first else x)

    x = activated(w.conv(w.norm(w.images, "stem.data"), "stem.conv", 2, 3), "stem.norm")
    x = F.max_pool2d(x, 3, 2, 1)
    for stage, units in enumerate((3, 4, 6, 3)):
        for i in range(units):
            x = unit(x, f"stage{stage + 1}.unit{i + 1}", 2 if stage and not i else 1, not i)
    return w.logits(activated(x, "norm"))


def inception_v3(w):
    def conv(x, name, stride=1, padding=None):
        if padding is None:
            padding = [k // 2 for k in w.of[name + ".conv.weights"].shape[:2]]
        return w.norm(w.conv(x, name + ".conv", stride, padding), name + ".norm").relu()

    def chain(x, name, count, last_stride=1, pool=None):
        x = pool(x, 3, 1, 1) if pool else x
        for i in range(1, count + 1):
            stride = last_stride if i == count else 1
            x = conv(x, f"{name}.conv{i}", stride, 0 if stride == 2 else None)
        return x

    def block(x, name, counts, pool=F.avg_pool2d):
        pools = [None] * (len(counts) - 1) + [pool]
        return [chain(x, f"{name}.chain{i + 1}", n, 1, p) for i, (n, p) in enumerate(zip(counts, pools))]

    def shrink(x, name, counts):
        parts = [chain(x, f"{name}.chain{i + 1}", n, 2) for i, n in enumerate(counts)]
        return torch.cat(parts + [F.max_pool2d(x, 3, 2)], 1)

    def fork(x, name, pool):
        parts = block(x, name, (1, 1, 2, 1), pool)
        for i in (2, 1):
            parts[i : i + 1] = [conv(parts[i], f"{name}.chain{i + 1}.{way}") for way in ("wide", "high")]
        return torch.cat(parts, 1)

    x = conv(conv(conv(w.images, "conv1", 2, 0), "conv2", 1, 0), "conv3")
    x = conv(conv(F.max_pool2d(x, 3, 2), "conv4", 1, 0), "conv5", 1, 0)
    x = F.max_pool2d(x, 3, 2)
    for name in ("a1", "a2", "a3"):
        x = torch.cat(block(x, name, (1, 2, 3, 1)), 1)
    x = shrink(x, "b", (1, 3))
    for name in ("c1", "c2", "c3", "c4"):
        x = torch.cat(block(x, name, (1, 3, 5, 1)), 1)
    x = shrink(x, "d", (2, 4))
    return w.logits(fork(fork(x, "e1", F.avg_pool2d), "e2", F.max_pool2d))


def step(w):
    for value in w.of.values():
        value.grad = None
    logits = globals()[model](w)
    F.cross_entropy(logits, arrays["labels"].long()).backward()
    return logits.detach()


exact = Weights(torch.float64)
logits = step(exact)
worst = 0.0
for name, found, wanted in [("logits", arrays["logits"], logits)] + [
    (name, arrays["gradient." + name], exact.of[name].grad) for name in asked
]:
    off = ((found - wanted).abs().max() / wanted.abs().max()).item()
    worst = max(worst, off)
    if not off <= TOLERANCE:
        print(f"{name}: off by {off:.2e} of the largest")
print(f"{len(asked)} gradients and the logits: off by at most {worst:.2e} of the largest")

single = Weights(torch.float32)
optimizer = torch.optim.SGD(single.of.values(), 1e-6, 0.9, weight_decay=1e-4)
times = []
for _ in range(RUNS):
    start = time.perf_counter()
    step(single)
    optimizer.step()
    times.append(time.perf_counter() - start)
theirs_s = statistics.median(times)
print(f"a step: ours {ours_s:.2f} s, theirs {theirs_s:.2f} s, ratio {ours_s / theirs_s:.2f}")
sys.exit(0 if worst <= TOLERANCE and asked else 1)
