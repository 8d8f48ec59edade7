# SPDX-License-Identifier: Apache-2.0
"""machine_files.py LEADLINE: the schemas of machine, plan and sweep files take every shipped one, and find mistakes that an
editor is to show, each where it stands."""
import glob
import json
import subprocess
import sys

try:
    import jsonschema
    import yaml
except ImportError as trouble:
    print(f"{trouble}: python3-jsonschema and python3-yaml are needed")
    sys.exit(77)

schema = json.loads(subprocess.run([sys.argv[1], "schema", "machine"], check=True, capture_output=True).stdout)
jsonschema.Draft7Validator.check_schema(schema)
validator = jsonschema.Draft7Validator(schema)
failed = 0


class Loader(yaml.CSafeLoader):
    """Of YAML 1.2: on, off, yes and no are words, and a number needs a dot before its exponent no more."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in ("tag:yaml.org,2002:bool",
                                                                        "tag:yaml.org,2002:timestamp")]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
import re  # noqa: E402

Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|false)$"), list("tf"))

# Tables of names and of residuals are no machines.
files = [path for path in sorted(glob.glob("hwconfigs/**/*.yaml", recursive=True)) if not path.endswith(("aliases.yaml", "served.yaml"))]
for path in files:
    with open(path, encoding="utf-8") as file:
        tree = yaml.load(file, Loader)
    for error in validator.iter_errors(tree):
        print(f"{path}: {'.'.join(map(str, error.absolute_path))}: {error.message[:200]}")
        failed += 1

MISTAKES = {
    "clok: 1GHz": [],
    "clock: 5": ["clock"],
    "units: [{name: a, model: sistolic, rows: 4, cols: 4}]": ["units", 0, "model"],
    "units: [{name: a, model: systolic, rwos: 4}]": ["units", 0],
    "memory: [{name: hbm, size: 16, bandwidth: 1TB/s}]": ["memory", 0, "size"],
    "memory: [{name: hbm, size: 16GiB, bandwidth: fast}]": ["memory", 0, "bandwidth"],
    "network: [{name: a, topology: rign}]": ["network", 0, "topology"],
    "memory: {name: hbm}": ["memory"],
}
for text, where in MISTAKES.items():
    found = [list(error.absolute_path) for error in validator.iter_errors(yaml.load(text, Loader))]
    if where not in found:
        print(f"{text}: expected a mistake at {where}, found {found}")
        failed += 1
sweep = json.loads(subprocess.run([sys.argv[1], "schema", "sweep_file"], check=True, capture_output=True).stdout)
plan = json.loads(subprocess.run([sys.argv[1], "schema", "plan_file"], check=True, capture_output=True).stdout)
for path in sorted(glob.glob("examples/*.yaml")):
    with open(path, encoding="utf-8") as file:
        for error in jsonschema.Draft7Validator(sweep).iter_errors(yaml.load(file, Loader)):
            print(f"{path}: {error.message[:200]}")
            failed += 1
for one, right, text in [(sweep, False, "base: x"), (sweep, False, "{base: x, vary: {}, objectives: [], traecs: []}"),
                         (plan, True, "{tp: 8, schedule: zb_h1, overlap: false}"), (plan, False, "{tp: many}"),
                         (plan, False, "{pt: 8}")]:
    if jsonschema.Draft7Validator(one).is_valid(yaml.load(text, Loader)) != right:
        print(f"{text}: expected to be {'right' if right else 'wrong'}")
        failed += 1
print(f"{len(files)} files, {len(MISTAKES)} mistakes")
sys.exit(failed > 0)
