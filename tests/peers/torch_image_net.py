# SPDX-License-Identifier: Apache-2.0
"""torch_image_net.py FOLDER THREADS OUR_SECONDS MODEL BATCH RUNS: the step that model_step left in the folder."""
import torch
from torch.nn import functional as F

import torch_step

EPSILON = 2e-5
MODEL, RUNS = torch_step.arguments[0], int(torch_step.arguments[2])


class Weights:
    """The network's weights by name."""

    def __init__(self, weights, dtype):
        self.of = weights
        self.images = torch_step.given("images.host_input", dtype).permute(0, 3, 1, 2).contiguous()

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


def forward(weights, dtype):
    logits = globals()[MODEL](Weights(weights, dtype))
    labels = torch_step.arrays["labels.host_input"].long()
    return {"logits": logits, "loss": F.cross_entropy(logits, labels)}


torch_step.check(forward, RUNS, lambda weights: torch.optim.SGD(weights, 1e-6, 0.9, weight_decay=1e-4))
