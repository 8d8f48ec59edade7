# SPDX-License-Identifier: Apache-2.0
"""torch_transformer.py FOLDER THREADS OUR_SECONDS: the layer that transformer_layer left in the folder."""
from torch.nn.functional import layer_norm

import torch_step

HEADS, EPSILON, RUNS = 8, 1e-6, 9


def heads(x):
    return x.view(*x.shape[:2], HEADS, -1).transpose(1, 2)


def forward(w, dtype):
    def dense(x, name):
        return x @ w[name + ".weights"] + w[name + ".biases"]

    def norm(x, name):
        return layer_norm(x, x.shape[-1:], w[name + ".scale"], w[name + ".bias"], EPSILON)

    x = w["x"]
    parts = dense(norm(x, "layer.self_attention.norm"), "layer.self_attention.query_key_value")
    query, key, value = (heads(part) for part in parts.chunk(3, dim=-1))
    scores = query @ key.transpose(2, 3) * query.shape[-1] ** -0.5 + torch_step.given("bias", dtype)
    seen = (scores.softmax(-1) @ value).transpose(1, 2).flatten(2)
    x = x + dense(seen, "layer.self_attention.output")
    inner = dense(norm(x, "layer.feed_forward.norm"), "layer.feed_forward.inner").relu()
    y = x + dense(inner, "layer.feed_forward.outer")
    return {"y": y, "loss": (y * torch_step.given("factors", dtype)).sum()}


torch_step.check(forward, RUNS)
