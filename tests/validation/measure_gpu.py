# SPDX-License-Identifier: Apache-2.0
"""Times of PyTorch's ops and of small networks on the GPU at hand, as rows that `leadline validate` reads.

    python3 measure_gpu.py OUT.csv [SECONDS [CONTAINS [SERIES]]]

Two rows a shape. `eager`: CUDA events around one call from Python on an idle device, the mean of the best fifth of 25
calls after four that do not count, so the start of the kernel by the host is in it. `kernels`: what the kernels of the
call take by the profiler (CUPTI), the median of five calls; its notes name the kernels with their grids and blocks.
Inputs are random numbers, the same in each call, so small ones are found in the cache. `_channels_last` behind either
word: images lie so in memory; else channels come before pixels.

Shapes are drawn from fixed seeds: the same on each device, others for each SERIES (a number, 0 if not given). Families
take turns, so that a run that SECONDS end has some of each; CONTAINS picks the rows with that text. TF32 is off for
fp32; rows of tf32 switch it on.
"""
import bisect
import csv
import gc
import json
import math
import random
import statistics
import sys
import tempfile
import time

import torch
import torch.nn.functional as F

DEVICE = "cuda"
WARM_UP, CALLS, BEST, PROFILED, GROUP = 4, 25, 5, 5, 40
LONG_CALL_S = 0.02  # of calls that take longer there are fewer
MOST_BYTES = 12e9  # of all operands of an op
TYPES = {"fp32": torch.float32, "tf32": torch.float32, "fp16_tc": torch.float16, "bf16": torch.bfloat16,
         "fp8": torch.float8_e4m3fn if hasattr(torch, "float8_e4m3fn") else None}


class Case:
    """A row to be: `prepare` makes the operands and returns what is called."""

    def __init__(self, op, dtype, prepare, notes="", layout="", **dims):
        self.op, self.dtype, self.prepare, self.notes, self.layout = op, dtype, prepare, notes, layout
        self.dims = ";".join(f"{key}={value}" for key, value in dims.items())


def seeded(seed):
    return random.Random(seed + 1000 * int(sys.argv[4] if len(sys.argv) > 4 else 0))


def rand(dtype, *shape):
    return torch.randn(*shape, device=DEVICE, dtype=TYPES[dtype])


def between(rng, low, high):
    """A whole number, evenly over the logarithms."""
    return int(round(math.exp(rng.uniform(math.log(low), math.log(high)))))


# Products.

def linear(dtype, m, n, k, bias=True):
    def prepare():
        x, w = rand(dtype, m, k), rand(dtype, n, k)
        b = rand(dtype, n) if bias else None
        return lambda: F.linear(x, w, b)

    return Case("gemm", dtype, prepare, m=m, n=n, k=k, **({"bias": 1} if bias else {}))


def scaled(m, n, k):
    def prepare():
        a = torch.randn(m, k, device=DEVICE).to(TYPES["fp8"])
        b = torch.randn(n, k, device=DEVICE).to(TYPES["fp8"]).t()
        one = torch.ones((), device=DEVICE)
        return lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)

    return Case("gemm", "fp8", prepare, notes="result in bf16", m=m, n=n, k=k)


def batched(dtype, b, m, n, k):
    def prepare():
        x, y = rand(dtype, b, m, k), rand(dtype, b, k, n)
        return lambda: torch.bmm(x, y)

    return Case("bmm", dtype, prepare, b=b, m=m, n=n, k=k)


def product_shapes(rng, count, most_flops, element_bytes, low=16):
    while count > 0:
        m, n, k = between(rng, low, 16384), between(rng, low, 16384), between(rng, low, 32768)
        flops, size = 2.0 * m * n * k, element_bytes * (m * k + n * k + m * n)
        if flops <= most_flops and size <= MOST_BYTES:
            count -= 1
            yield m, n, k


def layer_shapes():
    """Of linear layers: hidden sizes of language models, one word to many."""
    for hidden in (768, 1024, 1280, 1600, 2048, 2560, 4096, 5120, 8192):
        for words in (1, 16, 64, 256, 512, 1024, 2048, 4096, 8192, 16384):
            for n, k in ((3 * hidden, hidden), (hidden, hidden), (4 * hidden, hidden), (hidden, 4 * hidden)):
                yield words, n, k


def products(dtype, seed, drawn, layers, most_flops):
    rng = seeded(seed)
    element_bytes = 4 if dtype in ("fp32", "tf32") else 2
    for shape in product_shapes(rng, drawn, most_flops, element_bytes):
        yield linear(dtype, *shape)
    fitting = [s for s in layer_shapes() if 2.0 * s[0] * s[1] * s[2] <= most_flops]
    for shape in rng.sample(fitting, layers):
        yield linear(dtype, *shape)


def fp8_products(seed, count):
    rng = seeded(seed)
    fitting = [s for s in layer_shapes() if s[0] >= 16 and all(x % 16 == 0 for x in s)]
    for shape in rng.sample(fitting, count):
        yield scaled(*shape)


def batched_products(dtype, seed, drawn, attention, most_flops):
    rng = seeded(seed)
    while drawn > 0:
        b, m, n, k = between(rng, 2, 2048), *(between(rng, 16, 2048) for _ in range(3))
        if 2.0 * b * m * n * k <= most_flops and 4.0 * b * (m * k + k * n + m * n) <= MOST_BYTES:
            drawn -= 1
            yield batched(dtype, b, m, n, k)
    while attention > 0:
        b, s, d = rng.choice((8, 16, 32, 64, 128, 256, 512)), rng.choice((64, 128, 256, 384, 512, 1024, 2048)), \
            rng.choice((32, 64, 80, 96, 128, 256))
        m, n, k = rng.choice(((s, s, d), (s, d, s), (d, s, s)))
        if 2.0 * b * m * n * k <= most_flops:
            attention -= 1
            yield batched(dtype, b, m, n, k)


# Convolutions.

NETS = [  # channels, image, filters, filter's height, stride: AlexNet, VGG, ResNet, GoogLeNet, MobileNet
    (3, 224, 64, 11, 4), (3, 224, 64, 7, 2), (3, 224, 64, 3, 1), (64, 112, 128, 3, 1), (64, 56, 64, 1, 1),
    (64, 56, 64, 3, 1), (64, 56, 256, 1, 1), (256, 56, 128, 1, 2), (128, 28, 128, 3, 1), (128, 28, 512, 1, 1),
    (512, 28, 256, 1, 2), (256, 14, 256, 3, 1), (256, 14, 1024, 1, 1), (1024, 14, 512, 1, 2), (512, 7, 512, 3, 1),
    (512, 7, 2048, 1, 1), (512, 28, 512, 3, 1), (192, 28, 96, 1, 1), (96, 28, 128, 3, 1), (16, 28, 32, 5, 1),
    (480, 14, 192, 1, 1), (64, 27, 192, 5, 1), (832, 7, 384, 1, 1), (160, 14, 320, 3, 1)]


def conv_shapes(seed, drawn, nets):
    rng = seeded(seed)
    for c, h, k, r, stride in rng.sample(NETS, min(nets, len(NETS))):
        yield rng.choice((1, 8, 16, 32, 64)), c, h, k, r, stride
    while drawn > 0:
        shape = (between(rng, 1, 64), between(rng, 3, 1024), between(rng, 7, 160), between(rng, 16, 1024),
                 rng.choice((1, 3, 3, 3, 5, 7)), rng.choice((1, 1, 1, 2)))
        b, c, h, k, r, stride = shape
        if 2.0 * b * c * k * (r * h / stride) ** 2 <= 3e11 and 4.0 * b * h * h * (c + k) <= 2e9 and h >= r:
            drawn -= 1
            yield shape


def convolution(dtype, what, b, c, h, k, r, stride, groups=1, last=False):
    padding = r // 2
    order = torch.channels_last if last else torch.contiguous_format

    def prepare():
        x = rand(dtype, b, c, h, h).to(memory_format=order)
        w = rand(dtype, k, c // groups, r, r).to(memory_format=order)
        arguments = [stride, stride], [padding, padding], [1, 1]
        if what == "conv2d_fwd":
            return lambda: F.conv2d(x, w, None, stride, padding, 1, groups)
        dy = torch.randn_like(F.conv2d(x, w, None, stride, padding, 1, groups))
        mask = [what == "conv2d_bwd_data", what == "conv2d_bwd_filter", False]
        return lambda: torch.ops.aten.convolution_backward(dy, x, w, None, *arguments, False, [0, 0], groups, mask)

    return Case(what, dtype, prepare, layout="_channels_last" if last else "", b=b, c=c, h=h, w=h, k=k, r=r, s=r,
                stride_h=stride, stride_w=stride, pad_h=padding, pad_w=padding,
                **({"groups": groups} if groups > 1 else {}))


def convolutions(dtype, what, seed, drawn, nets, last=False):
    for shape in conv_shapes(seed, drawn, nets):
        yield convolution(dtype, what, *shape, last=last)


def depthwise(dtype, seed, count):
    rng = seeded(seed)
    for _ in range(count):
        c = rng.choice((32, 64, 128, 256, 512, 1024))
        yield convolution(dtype, "conv2d_fwd", rng.choice((1, 16, 64)), c, rng.choice((112, 56, 28, 14)), c,
                          rng.choice((3, 3, 5)), rng.choice((1, 1, 2)), groups=c)


# Elements and rows.

ONE = {"ew_add_scalar": lambda x: x + 1.5, "ew_mul_scalar": lambda x: x * 1.5, "ew_div_scalar": lambda x: x / 1.5,
       "ew_pow_scalar": lambda x: torch.pow(x, 3.5), "relu": torch.relu, "gelu": F.gelu, "tanh": torch.tanh,
       "sigmoid": torch.sigmoid, "silu": F.silu, "exp": torch.exp}
TWO = {"ew_add": torch.add, "ew_mul": torch.mul, "ew_div": torch.div, "ew_pow": torch.pow}


def table_shapes(rng, count, most=6e8):
    """Rows and columns, the numbers of elements evenly over their logarithms."""
    for _ in range(count):
        elements = between(rng, 3e3, most)
        h = min(rng.choice((between(rng, 32, 16384), 2 ** rng.randint(7, 14))), elements)
        yield max(1, elements // h), h


def elementwise(dtype, op, b, h):
    def prepare():
        x = rand(dtype, b, h).abs_()
        if op in ONE:
            return lambda: ONE[op](x)
        y = rand(dtype, b, h).abs_()
        return lambda: TWO[op](x, y)

    return Case(op, dtype, prepare, b=b, h=h, nin=1 if op in ONE else 2)


def elementwise_ops(dtype, ops, seed, each):
    rng = seeded(seed)
    for op in ops:
        for shape in table_shapes(rng, each):
            yield elementwise(dtype, op, *shape)


def rows(dtype, op, b, h):
    def prepare():
        x = rand(dtype, b, h)
        w, c = rand(dtype, h), rand(dtype, h)
        return {"softmax": lambda: torch.softmax(x, -1), "layernorm": lambda: F.layer_norm(x, (h,), w, c),
                "rmsnorm": lambda: F.rms_norm(x, (h,), w)}[op]

    return Case(op, dtype, prepare, b=b, h=h)


def row_ops(dtype, op, seed, count):
    rng = seeded(seed)
    for shape in table_shapes(rng, count):
        yield rows(dtype, op, *shape)


def pooling(dtype, seed, count):
    rng = seeded(seed)
    for _ in range(count):
        b, c, h = rng.choice((1, 16, 64)), rng.choice((64, 128, 256, 512)), rng.choice((112, 56, 28, 14))
        r, kind = rng.choice((2, 3)), rng.choice(("maxpool", "avgpool"))
        pool = F.max_pool2d if kind == "maxpool" else F.avg_pool2d
        out = (h - r) // 2 + 1

        def prepare(b=b, c=c, h=h, r=r, pool=pool):
            x = rand(dtype, b, c, h, h)
            return lambda: pool(x, r, 2)

        yield Case(kind + "_fwd", dtype, prepare, b=b, c=c, h=h, w=h, oh=out, ow=out, r=r, s=r, stride_h=2, stride_w=2)


# Attention and recurrent layers.

def attention(dtype, what, b, heads, seq, dim):
    def prepare():
        from torch.nn.attention import SDPBackend, sdpa_kernel

        q, k, v = (rand(dtype, b, heads, seq, dim).requires_grad_(what == "attention_bwd") for _ in range(3))

        def forward():
            with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
                return F.scaled_dot_product_attention(q, k, v, is_causal=True)

        if what == "attention_fwd":
            return forward
        y = forward()
        dy = torch.randn_like(y)
        return lambda: torch.autograd.grad(y, (q, k, v), dy, retain_graph=True)

    return Case(what, dtype, prepare, notes="FlashAttention of PyTorch", b=b, heads=heads, seq=seq, dim=dim, causal=1)


def attentions(dtype, what, seed, count):
    rng = seeded(seed)
    while count > 0:
        b, heads, seq, dim = rng.choice((1, 2, 4, 8, 16)), rng.choice((8, 12, 16, 32)), \
            rng.choice((128, 256, 512, 1024, 2048, 4096, 8192)), rng.choice((64, 64, 128, 128, 96))
        if 2.0 * b * heads * seq * seq * dim <= 3e12:
            count -= 1
            yield attention(dtype, what, b, heads, seq, dim)


def recurrent(dtype, what, kind, hidden, batch, steps):
    def prepare():
        cell = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "vanilla": torch.nn.RNN}[kind]
        layer = cell(hidden, hidden, device=DEVICE, dtype=TYPES[dtype])
        x = rand(dtype, steps, batch, hidden).requires_grad_(what == "rnn_bwd")
        if what == "rnn_fwd":
            layer.eval()

            def forward():
                with torch.no_grad():
                    return layer(x)

            return forward
        y = layer(x)[0]
        dy = torch.randn_like(y)
        wanted = [x, *layer.parameters()]
        return lambda: torch.autograd.grad(y, wanted, dy, retain_graph=True)

    return Case(what, dtype, prepare, type=kind, hidden=hidden, batch=batch, steps=steps)


def recurrents(dtype, what, seed, count):
    rng = seeded(seed)
    for _ in range(count):
        yield recurrent(dtype, what, rng.choice(("lstm", "gru", "vanilla")),
                        rng.choice((256, 512, 1024, 1536, 1760, 2048, 2560)), rng.choice((1, 8, 16, 32, 64, 128)),
                        rng.choice((10, 25, 50, 100, 200)))


# Networks.

def step_of(model, run, train):
    def infer():
        with torch.no_grad():
            return run()

    def forward_backward():
        for p in model.parameters():
            p.grad = None
        run().backward()

    return forward_backward if train else infer


def image_net(name, dtype, batch, train):
    def prepare():
        import torchvision

        extra = {"aux_logits": False, "init_weights": False} if name == "googlenet" else {}
        with torch.device(DEVICE):
            model = getattr(torchvision.models, name)(**extra).to(TYPES[dtype])
        model.train(train)
        x = rand(dtype, batch, 3, 224, 224)
        return step_of(model, lambda: model(x).float().sum(), train)

    ours = {"resnet50": "resnet50v1.5", "alexnet": "alexnet_owt"}.get(name, name)
    return Case("e2e_train" if train else "e2e_infer", dtype, prepare, notes="torchvision", model=ours, batch=batch,
                image=224, mode="forward+backward" if train else "forward")


def language_model(name, dtype, batch, seq, train):
    def prepare():
        import transformers as t

        eager = {"attn_implementation": "eager"}
        if name == "bert_large":
            config = t.BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
                                  intermediate_size=4096, **eager)
            kind = t.BertForPreTraining
        else:
            config = t.GPT2Config(n_embd=1280, n_layer=36, n_head=20, use_cache=False, **eager)
            kind = t.GPT2LMHeadModel
        with torch.device(DEVICE):
            model = kind(config).to(TYPES[dtype])
        model.train(train)
        words = torch.randint(0, 30000, (batch, seq), device=DEVICE)
        return step_of(model, lambda: model(words)[0].float().sum(), train)

    return Case("e2e_train" if train else "e2e_infer", dtype, prepare, notes="transformers; attention eager",
                model=name, batch=batch, seq=seq, mode="train" if train else "inf")


def networks():
    for dtype in ("fp32", "bf16"):
        for batch in (1, 16, 64):
            for name in ("resnet50", "vgg16", "alexnet", "resnet18", "densenet121", "googlenet"):
                yield image_net(name, dtype, batch, False)
        for name in ("resnet50", "vgg16", "resnet18"):
            yield image_net(name, dtype, 32, True)
        for batch in (1, 8):
            yield language_model("bert_large", dtype, batch, 512, False)
            yield language_model("gpt2_large", dtype, batch // 2 or 1, 1024, False)
        yield language_model("bert_large", dtype, 4, 512, True)
        yield language_model("gpt2_large", dtype, 1, 1024, True)


def families():
    pairs = ("ew_add", "ew_mul", "ew_div", "ew_pow")
    ones = ("ew_add_scalar", "ew_mul_scalar", "ew_pow_scalar", "relu", "gelu", "tanh")
    return [
        list(products("fp32", 1, 110, 50, 1.2e12)),
        list(batched_products("fp32", 2, 80, 60, 4e11)),
        list(products("bf16", 3, 70, 90, 8e12)),
        list(products("fp16_tc", 4, 30, 20, 4e12)),
        list(products("tf32", 5, 30, 20, 4e12)),
        list(fp8_products(6, 40)),
        list(batched_products("bf16", 7, 50, 40, 2e12)),
        list(convolutions("fp32", "conv2d_fwd", 8, 60, 24)),
        list(convolutions("fp16_tc", "conv2d_fwd", 9, 20, 16)) +
        list(convolutions("fp16_tc", "conv2d_fwd", 10, 10, 16, last=True)),
        list(convolutions("fp32", "conv2d_bwd_data", 11, 10, 16)) +
        list(convolutions("tf32", "conv2d_fwd", 12, 10, 10)),
        list(convolutions("fp32", "conv2d_bwd_filter", 13, 10, 16)) + list(depthwise("fp32", 14, 10)),
        list(elementwise_ops("fp32", pairs + ones, 15, 13)),
        list(elementwise_ops("bf16", ("ew_add", "ew_mul_scalar", "gelu", "silu", "tanh"), 16, 8)),
        list(row_ops("fp32", "softmax", 17, 50)) + list(row_ops("bf16", "softmax", 18, 20)),
        list(row_ops("fp32", "layernorm", 19, 50)) + list(row_ops("bf16", "layernorm", 20, 20)),
        list(row_ops("bf16", "rmsnorm", 21, 15)) + list(pooling("fp32", 22, 12)),
        list(attentions("bf16", "attention_fwd", 23, 35)) + list(attentions("bf16", "attention_bwd", 24, 20)),
        list(recurrents("fp32", "rnn_fwd", 25, 30)) + list(recurrents("fp32", "rnn_bwd", 26, 15)) +
        list(recurrents("fp16_tc", "rnn_fwd", 27, 15)),
        list(networks()),
    ]


def shuffled_turns(lists):
    """Each family evenly over the whole, so that all end together."""
    placed = []
    for family, cases in enumerate(lists):
        random.Random(family).shuffle(cases)
        placed += [((i + 0.5) / len(cases), family, case) for i, case in enumerate(cases)]
    return [case for _, _, case in sorted(placed, key=lambda p: p[:2])]


# Measuring.

def switch(dtype):
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    torch.backends.cudnn.allow_tf32 = dtype == "tf32"


def time_calls(call):
    """The mean of the best fifth, and the median, in seconds."""
    times = []
    for i in range(WARM_UP + CALLS):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        if i >= WARM_UP or (i == WARM_UP - 1 and start.elapsed_time(end) > 1e3 * LONG_CALL_S):
            times.append(start.elapsed_time(end) * 1e-3)
        if len(times) >= 8 and times[0] > LONG_CALL_S:
            break
    best = sorted(times)[:max(1, len(times) * BEST // CALLS)]
    return statistics.fmean(best), statistics.median(times)


def prepared(case):
    torch.manual_seed(1)
    switch(case.dtype)
    return case.prepare()


def kernels_of(path):
    """By label of a call, its kernels in order: (name, grid, block, seconds)."""
    with open(path) as file:
        trace = json.load(file)
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    labels = sorted((e["ts"], e["ts"] + e["dur"], e["name"]) for e in events
                    if e.get("cat") == "user_annotation" and e["name"].startswith("call "))
    launched = {e["args"]["correlation"]: e["ts"] for e in events
                if e.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in e.get("args", {})}
    found = {}
    done = [e for e in events if e.get("cat") in ("kernel", "gpu_memset", "gpu_memcpy")]
    for e in sorted(done, key=lambda e: e["ts"]):
        at = launched.get(e["args"].get("correlation"), -1)
        i = bisect.bisect(labels, (at,)) - 1
        if i >= 0 and at <= labels[i][1]:
            found.setdefault(labels[i][2], []).append(
                (e["name"], e["args"].get("grid"), e["args"].get("block"), e["dur"] * 1e-6))
    return found


def profiled(case):
    """How many calls: one of those with thousands of kernels."""
    return 1 if case.op.startswith(("e2e", "rnn")) else PROFILED


def profile(cases):
    """For each case its kernels' seconds and a line that names them; None where nothing was seen."""
    from torch.profiler import ProfilerActivity, record_function

    with torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        for i, case in enumerate(cases):
            call = prepared(case)
            call()
            torch.cuda.synchronize()
            for j in range(profiled(case)):
                with record_function(f"call {i} {j}"):
                    call()
                    torch.cuda.synchronize()
            del call
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        profiler.export_chrome_trace(file.name)
        found = kernels_of(file.name)
    return [summary([found.get(f"call {i} {j}", []) for j in range(profiled(case))])
            for i, case in enumerate(cases)]


def summary(calls):
    if not all(calls):
        return None
    time_s = statistics.median(sum(k[3] for k in kernels) for kernels in calls)
    longest = sorted(calls[-1], key=lambda k: -k[3])[:3]
    names = [f"{name[:110]} grid {'x'.join(map(str, grid or []))} block {'x'.join(map(str, block or []))} "
             f"{seconds * 1e6:.1f} us" for name, grid, block, seconds in longest]
    return time_s, f"{len(calls[-1])} kernels: " + " | ".join(names)


def measure(case, hardware):
    """The eager row, or None with the reason printed."""
    try:
        call = prepared(case)
        best, median = time_calls(call)
        spread = f"median {median:.4g}" if median > 1.05 * best else ""
        notes = "; ".join(filter(None, (case.notes, spread)))
        return ["eager" + case.layout, hardware, case.op, case.dtype, case.dims, f"{best:.6g}", notes]
    except Exception as error:  # a shape that a library refuses is a row less
        print(f"{case.op} {case.dtype} {case.dims}: {type(error).__name__} {str(error)[:200]}", flush=True)
        return None


def main():
    out, limit_s = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 1e9
    wanted = sys.argv[3] if len(sys.argv) > 3 else ""
    start = time.monotonic()
    torch.backends.cudnn.benchmark = True
    hardware = torch.cuda.get_device_name()
    hardware = hardware if hardware.startswith("NVIDIA") else "NVIDIA " + hardware
    cases = [c for c in shuffled_turns(families()) if wanted in f"{c.op},{c.dtype},{c.dims}"]
    print(f"{hardware}, PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, {len(cases)} shapes",
          flush=True)
    with open(out, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow("source,hardware,op,dtype,dims,time_s,notes".split(","))
        for first in range(0, len(cases), GROUP):
            if time.monotonic() - start > limit_s:
                break
            group = cases[first:first + GROUP]
            eager = [(case, row) for case in group if (row := measure(case, hardware))]
            writer.writerows(row for _, row in eager)
            file.flush()
            gc.collect()
            torch.cuda.empty_cache()
            try:
                seen = profile([case for case, _ in eager])
            except Exception as error:
                print(f"profile of {first}: {type(error).__name__} {str(error)[:300]}", flush=True)
                seen = []
            for (case, row), kernels in zip(eager, seen):
                if kernels:
                    writer.writerow(["kernels" + case.layout, *row[1:5], f"{kernels[0]:.6g}",
                                     "; ".join(filter(None, (case.notes, kernels[1])))])
            file.flush()
            torch.cuda.empty_cache()
            print(f"{first + len(group)} of {len(cases)} after {time.monotonic() - start:.0f} s", flush=True)


main()
