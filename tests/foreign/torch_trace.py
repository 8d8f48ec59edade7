# SPDX-License-Identifier: Apache-2.0
"""What `leadline record -- python3 PROGRAM` makes of programs with PyTorch: the same step, within 2 %, as an execution
trace that somebody took of it by hand. And where there is no such trace, a warning that says how to make one."""
import json
import os
import subprocess
import sys
import tempfile

import foreign

MACHINE = "h100_sxm+pytorch"
PROGRAMS = {
    "a CNN, momentum": """
m = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                  nn.Linear(16, 10))
opt = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
def step():
    loss = nn.functional.cross_entropy(m(torch.randn(8, 3, 32, 32)), torch.randint(0, 10, (8,)))
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "two optimizers": """
G, D, f = nn.Linear(64, 784), nn.Linear(784, 1), nn.BCEWithLogitsLoss()
og, od = torch.optim.Adam(G.parameters()), torch.optim.RMSprop(D.parameters())
def step():
    for _ in range(2):
        od.zero_grad(); f(D(G(torch.randn(32, 64)).detach()), torch.zeros(32, 1)).backward(); od.step()
    og.zero_grad(); f(D(G(torch.randn(32, 64))), torch.ones(32, 1)).backward(); og.step()
""",
    "a transformer that infers": """
m = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 2).eval()
def step():
    with torch.no_grad():
        return m(torch.randn(4, 16, 64))
""",
    "no optimizer": """
w = torch.randn(784, 10, requires_grad=True)
def step():
    nn.functional.cross_entropy(torch.randn(64, 784) @ w, torch.randint(0, 10, (64,))).backward()
    with torch.no_grad():
        w.sub_(0.1 * w.grad); w.grad.zero_()
""",
}
BY_HAND = """
import torch.profiler
step(); step()
kind = getattr(torch.profiler, "ExecutionTraceObserver", None) or torch.profiler.ExecutionGraphObserver
e = kind(); e.register_callback(sys.argv[1]); e.start(); step(); e.stop(); e.unregister_callback()
"""
FAILED = []


def expect(true, what):
    if not true:
        FAILED.append(what)
        print(what)


def write(folder, name, *parts):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("import sys, torch\nfrom torch import nn\ntorch.manual_seed(0)\n" + "".join(parts))
    return path


def record(folder, *words):
    """Status, what is told, the trace."""
    trace = os.path.join(folder, "t.llt")
    done = subprocess.run([sys.argv[1], "record", "--json", "-o", trace, *words], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    text = done.stdout.decode()
    return done.returncode, json.loads(text[text.index("{"):]), trace


def time_s(trace):
    return foreign.leadline("sim", "-c", MACHINE, trace)["results"][0]["time_s"]


def compare(folder, what, program):
    graph, by_hand = os.path.join(folder, "hand.json"), os.path.join(folder, "hand.llt")
    subprocess.run([foreign.PYTHON, write(folder, "hand.py", program, BY_HAND), graph], check=True)
    foreign.leadline("import", "pytorch-graph", graph, "-o", by_hand)
    status, told, trace = record(folder, "--", foreign.PYTHON,
                                 write(folder, "run.py", program, "for i in range(4): step()\nsys.exit(3)\n"))
    expect(status == 3, f"{what}: status {status}")
    expect(told["traces"][0]["pytorch"] and told["traces"][0]["pytorch"]["joined"], f"{what}: {told['traces']}")
    expect(told["traces"][0]["pytorch"]["steps"] == 4, f"{what}: {told['traces'][0]['pytorch']} of 4 steps")
    expected, found = time_s(by_hand), time_s(trace)
    expect(abs(found - expected) <= 0.02 * expected, f"{what}: {found} s, by hand {expected} s")
    info = foreign.leadline("info", trace)
    expect(info["header"].get("summary.calls", "0") != "0" and info["host"], f"{what}: no word of the recording")
    expect(info["warnings"] == [], f"{what}: {info['warnings']}")
    return trace


def main():
    foreign.needs("torch")
    with tempfile.TemporaryDirectory() as folder:
        for what, program in PROGRAMS.items():
            trace = compare(folder, what, program)
            if "backward" in program and "nn.Linear" in program:
                replicas = foreign.leadline("sim", "-c", "archive/vidur_h100+pytorch", "--dp", "8", trace)["results"][0]
                expect(replicas["network"]["total_s"] > 0, f"{what}: replicas exchange nothing")
        program = write(folder, "run.py", PROGRAMS["a CNN, momentum"], "for i in range(4): step()\n")
        timed = foreign.leadline("info", record(folder, "--", foreign.PYTHON, program)[2])
        convolutions = [kind for kind in timed["by_kind"] if kind["kind"].startswith("conv2d")]
        expect(convolutions and all(kind["time_s"] > 0 for kind in convolutions), f"no times: {timed['by_kind']}")
        calls = foreign.leadline("info", record(folder, "--calls", "--", foreign.PYTHON, program)[2])
        expect(calls["mode"] == "program" and calls["warnings"] == [], "--calls: not the calls")
        told, trace = record(folder, "--", foreign.PYTHON, "-E", program)[1:]
        expect(told["traces"][0]["pytorch"]["trouble"], f"-E: {told['traces']}")
        warnings = "".join(foreign.leadline("info", trace)["warnings"])
        for line in "ExecutionTraceObserver()", "e.register_callback(", "e.start()", "e.stop()", "e.unregister_callback()":
            expect(line in warnings, f"no `{line}` in: {warnings}")
        other = os.path.join(folder, "own")
        os.mkdir(other)
        with open(os.path.join(other, "sitecustomize.py"), "w", encoding="utf-8") as file:
            file.write("import sys\nsys.other = __file__\n")
        os.environ["PYTHONPATH"] = other
        trace = record(folder, "--", foreign.PYTHON, write(folder, "s.py", "sys.exit(7 if sys.other else 1)\n"))
        expect(trace[0] == 7, "the program's own sitecustomize has not run")
    sys.exit(len(FAILED) > 0)


main()
