# SPDX-License-Identifier: Apache-2.0
"""The programs of torch_flops.csv, by name: what a user might write, with nothing in it about recording."""
import sys

import torch

torch.manual_seed(0)


def forward_backward(model, x):
    model(x).sum().backward()


def forward(model, x):
    with torch.no_grad():
        model.eval()(x)


def vision(name):
    import torchvision

    return getattr(torchvision.models, name)()


def lstm_fwd_bwd():
    torch.nn.LSTM(256, 512, 2)(torch.randn(20, 16, 256))[0].sum().backward()


PROGRAMS = {
    "linear_64x1024x512_fwd_bwd": lambda: forward_backward(torch.nn.Linear(1024, 512), torch.randn(64, 1024)),
    "conv3x3_64to128_56x56_b2_fwd_bwd": lambda: forward_backward(
        torch.nn.Conv2d(64, 128, 3, padding=1), torch.randn(2, 64, 56, 56)),
    "resnet18_fwd_b1_224": lambda: forward(vision("resnet18"), torch.randn(1, 3, 224, 224)),
    "resnet18_fwd_bwd_b2_224": lambda: forward_backward(vision("resnet18"), torch.randn(2, 3, 224, 224)),
    "lstm_2x512_in256_T20_B16_fwd_bwd": lstm_fwd_bwd,
    "gru_1x512_in256_T20_B16_fwd": lambda: forward(torch.nn.GRU(256, 512), torch.randn(20, 16, 256)),
    "transformer_enc_layer_d512_h8_ff2048_B4_S128_fwd_bwd": lambda: forward_backward(
        torch.nn.TransformerEncoderLayer(512, 8, 2048), torch.randn(128, 4, 512)),
    "transformer_enc_layer_fwd": lambda: forward(
        torch.nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True), torch.randn(4, 128, 512)),
    "vit_b_16_fwd_b1": lambda: forward(vision("vit_b_16"), torch.randn(1, 3, 224, 224)),
    "mobilenet_v2_fwd_b1": lambda: forward(vision("mobilenet_v2"), torch.randn(1, 3, 224, 224)),
}

PROGRAMS[sys.argv[1]]()
