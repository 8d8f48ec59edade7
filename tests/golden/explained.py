# SPDX-License-Identifier: Apache-2.0
"""explained.py PROGRAM ROOT: leadline explain knows every word of the output: the keys of all JSON documents, of machine
files, and the heads of all columns that stand in the sources."""
import glob
import json
import re
import subprocess
import sys

program, root = sys.argv[1:]


def printed_by(*words):
    return subprocess.run([program, *words], capture_output=True, check=True, text=True).stdout


def keys_of(schema):
    for key, inner in schema.get("properties", {}).items():
        yield key
        yield from keys_of(inner)
    for inner in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(inner, dict):
            yield from keys_of(inner)


def headings():
    """Headings are literals of ll_table_new with `|` between them; a blank one names nothing."""
    for path in glob.glob(root + "/sim/**/*.c", recursive=True):
        with open(path, encoding="utf-8") as file:
            source = file.read()
        for call in re.findall(r"ll_table_new\(([^;]*)\);", source):
            joined = re.sub(r'"\s*\n\s*"', "", call)
            for literal in re.findall(r'"((?:[^"\\]|\\.)*)"', joined):
                if "|" in literal:
                    yield from (part.lstrip(">?").strip() for part in literal.split("|"))


words = {key: "JSON key" for row in json.loads(printed_by("schema", "--json"))["schemas"]
         for key in keys_of(json.loads(printed_by("schema", row["name"])))}
json_keys = len(words)
words |= {heading: "head of a column" for heading in headings() if heading}
machine_keys = re.findall(r"^\| `([a-zA-Z0-9_]+)` \|", printed_by("machines", "--keys"), re.MULTILINE)
words |= {key: "machine key" for key in machine_keys}
with open(root + "/sim/cli/terms.def", encoding="utf-8") as file:
    words |= {term: "term" for term in re.findall(r'^LL_TERM\("([^"]+)"', file.read(), re.MULTILINE)}
unknown = [word for word in sorted(words)
           if subprocess.run([program, "explain", "--", word], capture_output=True, check=False).returncode != 0]
for word in unknown:
    print(f"leadline explain {word!r}: nothing, and it is a {words[word]}")
print(f"{len(words)} words, {json_keys} of them JSON keys, {len(set(machine_keys))} machine keys")
sys.exit(1 if unknown or json_keys < 100 or len(words) < 400 else 0)
