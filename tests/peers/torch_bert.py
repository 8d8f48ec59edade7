# SPDX-License-Identifier: Apache-2.0
"""torch_bert.py FOLDER THREADS OUR_SECONDS MODEL BATCH RUNS KEY=VALUE...: the step of BERT's training that
model_step left in the folder: hidden tokens and the second half of a text are guessed."""
import torch
from torch.nn import functional as F

import torch_step

EPSILON = 1e-12
settings = dict(word.split("=") for word in torch_step.arguments[3:])
LAYERS, HEADS = int(settings["layers"]), int(settings["heads"])


def forward(w, dtype):
    def indices(name):
        return torch_step.arrays[name + ".host_input"].long()

    def dense(x, name):
        return x @ w[name + ".weights"] + w[name + ".biases"]

    def norm(x, name):
        return F.layer_norm(x, x.shape[-1:], w[name + ".scale"], w[name + ".bias"], EPSILON)

    def heads(x):
        return x.view(batch, steps, HEADS, -1).transpose(1, 2)

    def attention(x, name):
        query, key, value = (heads(dense(x, f"{name}.{part}")) for part in ("query", "key", "value"))
        shares = (query @ key.transpose(2, 3) * query.shape[-1] ** -0.5).softmax(-1)
        seen = (shares @ value).transpose(1, 2).reshape(batch * steps, -1)
        return norm(x + dense(seen, name + ".output"), name + ".norm")

    def feed_forward(x, name):
        return norm(x + dense(F.gelu(dense(x, name + ".input")), name + ".output"), name + ".norm")

    batch = int(torch_step.arguments[1])
    steps = indices("embedding.tokens").numel() // batch
    x = w["tokens"][indices("embedding.tokens")] + w["embedding.types"][indices("embedding.types")]
    x = (x.view(batch, steps, -1) + w["embedding.positions"][:steps]).flatten(0, 1)
    x = norm(x, "embedding.norm")
    for i in range(LAYERS):
        x = feed_forward(attention(x, f"layer{i}.attention"), f"layer{i}.feed_forward")
    rows = norm(F.gelu(dense(x[indices("head.hidden")], "head.input")), "head.norm")
    logits = rows @ w["tokens"].t() + w["head.biases"]
    pooled = dense(x.view(batch, steps, -1)[:, 0], "follows.pooler.output").tanh()
    follows = F.cross_entropy(dense(pooled, "follows.output"), indices("follows.labels"))
    return {"logits": logits, "loss": F.cross_entropy(logits, indices("labels")) + follows}


torch_step.check(forward, int(torch_step.arguments[2]), lambda weights: torch.optim.Adam(weights, 3e-4))
