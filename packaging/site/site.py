# SPDX-License-Identifier: Apache-2.0
"""site.py BUILD OUT: the documentation as a site, by mkdocs: the pages of the tree where they lie, so that their links
hold, and references out of what is built: the program's commands, the C header, the Python module."""
import inspect
import os
import re
import shutil
import subprocess
import sys

BUILD, OUT = (os.path.abspath(path) for path in sys.argv[1:3])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(BUILD, "sim", "cli", "leadline")
SOURCE = OUT + ".source"

TASKS = ["record", "workloads", "pytorch", "explain", "machines", "parallel", "serving", "sweeps", "studies", "accuracy",
         "library", "build"]


def pages():
    """All pages of the tree, and the files that they link to."""
    for folder, below, files in os.walk(ROOT):
        below[:] = sorted(one for one in below if not one.startswith(("build", ".")))
        for name in sorted(files):
            if name.endswith(".md"):
                yield os.path.relpath(os.path.join(folder, name), ROOT)


def copy(path):
    target = os.path.join(SOURCE, path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(os.path.join(ROOT, path), target)


def linked(page):
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", file.read()):
            path = os.path.normpath(os.path.join(os.path.dirname(page), link))
            if os.path.isfile(os.path.join(ROOT, path)) and not path.startswith(".."):
                yield path


def commands():
    """A section for each command: what it prints of itself."""
    environment = dict(os.environ, COLUMNS="100", NO_COLOR="1")
    text = subprocess.run([PROGRAM, "--help"], check=True, capture_output=True, text=True, env=environment).stdout
    names = re.findall(r"^  ([a-z]+)  +\S", text.split("Commands:")[1], re.MULTILINE)
    parts = ["# Commands\n"]
    for name in names:
        page = subprocess.run([PROGRAM, "help", name], check=True, capture_output=True, text=True, env=environment).stdout
        parts.append(f"## leadline {name}\n\n```text\n{page}```\n")
    return "\n".join(parts)


def header():
    """leadline.h: its first comment as text, then each declaration with its comment."""
    with open(os.path.join(ROOT, "sim", "api", "leadline.h"), encoding="utf-8") as file:
        text = file.read()

    def plain(comment):
        lines = [re.sub(r"^ ?\* ?", "", line.strip(" ")) for line in comment.splitlines()]
        return re.sub(r"@(file|brief|return|name|param (\w+))\s?", lambda found: {
            "return": "Returns: ", "name": "## ", "brief": "", "file": "# "}.get(found[1], f"`{found[2]}`: "),
            "\n".join(lines)).replace("@{", "").strip()

    parts = []
    for comment, behind in re.findall(r"/\*\*(.*?)\*/[ \t]*\n?((?:(?!/\*).)*?(?:;|\n\n|(?=/\*)))", text, re.DOTALL):
        declaration = behind.replace("LEADLINE_API ", "").strip()
        if declaration.startswith(("#", "}")) or comment.strip() == "@}":
            declaration = ""
        if declaration:
            parts.append(f"```c\n{declaration}\n```\n")
        parts.append(plain(comment) + "\n")
    return "\n".join(parts)


def module():
    """The Python module by its docstrings."""
    os.environ["LEADLINE_LIBRARY"] = os.path.join(BUILD, "sim", "api", "libleadline.so.0")
    sys.path.insert(0, os.path.join(ROOT, "python"))
    sys.dont_write_bytecode = True
    import leadline

    def section(name, thing, level):
        try:
            signature = str(inspect.signature(thing)).replace("'", "")
        except (TypeError, ValueError):
            signature = ""
        return f"{'#' * level} {name}\n\n```python\n{name}{signature}\n```\n\n{inspect.getdoc(thing) or ''}\n"

    parts = [f"# Python: leadline\n\n```text\n{inspect.getdoc(leadline)}\n```\n"]
    for name in leadline.__all__:
        thing = getattr(leadline, name)
        parts.append(section(name, thing, 2))
        if inspect.isclass(thing):
            parts += [section(f"{name}.{member}", value, 3) for member, value in inspect.getmembers(thing)
                      if not member.startswith("_") and inspect.getdoc(value) and member in vars(thing)]
    return "\n".join(parts)


def write(path, text):
    with open(os.path.join(SOURCE, path), "w", encoding="utf-8") as file:
        file.write(text)


def main():
    shutil.rmtree(SOURCE, ignore_errors=True)
    for page in pages():
        copy(page)
        for path in linked(page):
            copy(path)
    write("commands.md", commands())
    write("c.md", header())
    write("python.md", module())
    tasks = "".join(f"    - docs/{name}.md\n" for name in TASKS)
    with open(OUT + ".yml", "w", encoding="utf-8") as file:
        file.write(f"site_name: Leadline\ndocs_dir: {SOURCE}\nsite_dir: {OUT}\nuse_directory_urls: false\nnav:\n"
                   f"  - README.md\n  - Tasks:\n{tasks}  - Commands: commands.md\n  - C: c.md\n  - Python: python.md\n"
                   "  - Inside: ARCHITECTURE.md\n  - Changes: CHANGELOG.md\n")
    subprocess.run(["mkdocs", "build", "--quiet", "--clean", "--config-file", OUT + ".yml"], check=True)


main()
