# SPDX-License-Identifier: Apache-2.0
"""Execution graphs that PyTorch writes here, imported: FLOPs of convolutions and products.

torch_graphs.py FOLDER ..., with LEADLINE as the program. The numbers are analytic counts, which agree with those captured at the calls of BLAS and
oneDNN of the same programs: multiply and add are two, gradients of inputs where autograd asks for them.
"""
import json
import os
import subprocess
import sys

import torch
import torch.nn.functional as F
from torch.profiler import ExecutionGraphObserver

leadline, folder = os.environ["LEADLINE"], sys.argv[1]
torch.manual_seed(0)
torch.set_num_threads(1)


def flops(name, program):
    """GFLOP of products and convolutions, by the import of the program's graph."""
    program()
    path = f"{folder}/{name}"
    observer = ExecutionGraphObserver()
    observer.register_callback(path + ".json")
    observer.start()
    program()
    observer.stop()
    observer.unregister_callback()
    subprocess.run([leadline, "import", "pytorch-graph", path + ".json", "-o", path + ".llt"], check=True,
                   stdout=subprocess.DEVNULL)
    info = json.loads(subprocess.run([leadline, "info", path + ".llt", "--json"], check=True, capture_output=True).stdout)
    for machine in "v100_sxm_32gb+pytorch", "tpu_v2", "xeon_e5_2680v4", "t4+pytorch":
        subprocess.run([leadline, "sim", "-c", machine, path + ".llt"], check=True, stdout=subprocess.DEVNULL)
    return sum(k["flops"] for k in info["by_kind"] if k["class"] in ("matrix", "conv")) / 1e9


def training(model, loss, *inputs):
    """A step of SGD with momentum."""
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)

    def step():
        optimizer.zero_grad()
        loss(model(*inputs)).backward()
        optimizer.step()

    return step


def inference(model, *inputs):
    model.eval()

    def step():
        with torch.no_grad():
            model(*inputs)

    return step


def total(y):
    return (y[0] if isinstance(y, tuple) else y).sum()


def programs():
    """Name, program, and what it is known to compute in GFLOP."""
    sequence = torch.randn(20, 16, 256)
    yield "linear", training(torch.nn.Linear(1024, 512), total, torch.randn(64, 1024)), 0.134218
    yield "conv", training(torch.nn.Conv2d(64, 128, 3, padding=1), total, torch.randn(2, 64, 56, 56)), 1.849688
    yield "lstm", training(torch.nn.LSTM(256, 512, 2), total, sequence), 6.643778
    yield "gru", inference(torch.nn.GRU(256, 512), sequence), 0.754975
    layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
    tokens = torch.randn(4, 128, 512)
    yield "transformer", training(layer, total, tokens), 9.261023
    yield "transformer_fast", inference(layer, tokens), 3.355443
    try:
        from torchvision import models
    except ImportError:
        return
    image = torch.randn(1, 3, 224, 224)
    yield "resnet18", inference(models.resnet18(), image), 3.628147
    yield "resnet18_training", training(models.resnet18(), total, torch.randn(2, 3, 224, 224)), 21.296824
    yield "vit_b_16", inference(models.vit_b_16(), image), 35.127656
    yield "mobilenet_v2", inference(models.mobilenet_v2(), image), 0.601549


wrong = 0
for name, program, expected in programs():
    found = flops(name, program)
    right = abs(found - expected) <= 1e-3 * expected
    wrong += not right
    print(f"{name:20} {found:10.6f} GFLOP, expected {expected:10.6f}{'' if right else '  WRONG'}")
sys.exit(wrong > 0)
