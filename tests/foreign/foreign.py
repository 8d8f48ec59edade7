# SPDX-License-Identifier: Apache-2.0
"""Recording a program with leadline, and what the trace holds: for the tests of this folder."""
import json
import os
import subprocess
import sys
import tempfile

SKIPPED = 77
MACHINES = ["v100_sxm_16gb+archive/deepbench", "a100_sxm_40gb+pytorch", "tpu_v3", "e5_2630v3_2s"]


def leadline(*words):
    """What a command of leadline prints with --json."""
    done = subprocess.run([sys.argv[1], *words, "--json"], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def record(*command, machines=()):
    """FLOPs and counts by kind of all calls of the command; its trace runs on the machines."""
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "t.llt")
        subprocess.run([sys.argv[1], "record", "--calls", "-o", trace, "--", *command], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        info = leadline("info", trace)
        steps = max(info["steps"], 1)
        counts = {}
        for kind in info["by_kind"]:
            counts[kind["kind"]] = counts.get(kind["kind"], 0) + round(kind["count"] * steps)
        for machine in machines:
            result = leadline("sim", "-c", machine, trace)["results"][0]
            assert result["time_s"] > 0, f"{machine}: {result['time_s']}"
        return float(info["header"]["summary.flops"]), counts


def needs(*modules):
    """Ends the test as skipped where a module is missing."""
    for module in modules:
        if subprocess.run([PYTHON, "-c", f"import {module}"], stderr=subprocess.DEVNULL).returncode:
            print(f"{PYTHON} has no {module}: skipped")
            sys.exit(SKIPPED)


PYTHON = os.environ.get("LEADLINE_TEST_PYTHON", "/usr/bin/python3")
