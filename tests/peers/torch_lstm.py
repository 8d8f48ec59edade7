# SPDX-License-Identifier: Apache-2.0
"""torch_lstm.py FOLDER THREADS OUR_SECONDS MODEL BATCH RUNS: the layer that model_step left in the folder, by
torch.lstm. The loss is half of the sum of squares. Gates are in the order input, candidate, forget, output
there, input, forget, candidate, output here; theirs has a second bias, which is nothing."""
import torch

import torch_step


def gates(x):
    i, j, f, o = x.chunk(4, dim=-1)
    return torch.cat((i, f, j, o), dim=-1)


def forward(w, dtype):
    hidden, batch = w["recurrent"].shape[0], int(torch_step.arguments[1])
    x = w["input"].view(-1, batch, hidden)
    biases = gates(w["biases"])
    parameters = [gates(w["weights"]).t(), gates(w["recurrent"]).t(), biases, torch.zeros_like(biases)]
    nothing = torch.zeros(1, batch, hidden, dtype=dtype)
    y = torch.lstm(x, (nothing, nothing), parameters, True, 1, 0.0, True, False, False)[0]
    return {"loss": (y * y).sum() / 2}


torch_step.check(forward, int(torch_step.arguments[2]))
