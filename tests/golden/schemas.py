# SPDX-License-Identifier: Apache-2.0
"""schemas.py PROGRAM FOLDER: checks every JSON document in a folder against its schema.

Behind each file FILE there is FILE.command, the command line that printed it. The checks are those of JSON Schema that
our schemas use (draft 2020-12); a schema that uses another keyword is refused."""
import json
import os
import subprocess
import sys

TYPES = {"string": str, "boolean": bool, "object": dict, "array": list, "null": type(None)}
KEYWORDS = {"$schema", "title", "description", "type", "const", "properties", "required", "additionalProperties",
            "items", "minimum"}
MEASURES = {"calibrate"}  # measures this machine for minutes


def is_a(value, name):
    if name in ("number", "integer"):
        right = int if name == "integer" else (int, float)
        return isinstance(value, right) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def complaints(value, schema, place):
    """What does not keep to a schema, as sentences."""
    unknown = set(schema) - KEYWORDS
    if unknown:
        yield f"{place}: the schema has {unknown}"
    if "const" in schema and value != schema["const"]:
        yield f"{place}: {value!r}, not {schema['const']!r}"
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    if names and not any(is_a(value, name) for name in names):
        yield f"{place}: {str(value)[:40]!r} is none of {names}"
        return
    if isinstance(value, (int, float)) and value < schema.get("minimum", value):
        yield f"{place}: {value} is too small"
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            yield from complaints(item, schema["items"], f"{place}[{i}]")
    if isinstance(value, dict) and "properties" in schema:
        for key in schema["required"]:
            if key not in value:
                yield f"{place}: {key} is missing"
        for key, inner in value.items():
            allowed = schema["properties"].get(key, schema["additionalProperties"])
            if allowed is False:
                yield f"{place}: {key} is not in the schema"
            else:
                yield from complaints(inner, allowed, f"{place}.{key}")


def printed_by(program, *words):
    return json.loads(subprocess.run([program, *words], capture_output=True, check=True).stdout)


program, folder = sys.argv[1:]
names = [row["name"] for row in printed_by(program, "schema", "--json")["schemas"]]
schemas = {name: printed_by(program, "schema", name) for name in names}
seen, wrong = set(), 0
for file in sorted(os.listdir(folder)):
    path = os.path.join(folder, file)
    if file.endswith(".command") or not os.path.getsize(path):
        continue
    with open(path + ".command", encoding="utf-8") as stream:
        command = stream.read().strip()
    if command.startswith(("leadline dump", "leadline machines ")) and not command.startswith("leadline machines -"):
        continue
    with open(path, encoding="utf-8") as stream:
        document = json.load(stream)
    name = document.get("schema")
    found = [f"there is no schema {name!r}"] if name not in schemas else list(complaints(document, schemas[name], name))
    seen.add(name)
    for sentence in found[:5]:
        print(f"{command}: {sentence}")
    wrong += bool(found)
missing = set(names) - seen - MEASURES
if missing:
    print("no document of", ", ".join(sorted(missing)), "was printed")
print(f"{len(seen)} of {len(names)} documents, {wrong} wrong")
sys.exit(1 if wrong or missing else 0)
