#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# site.sh BUILD: the documentation becomes a site, with the references in it, and no link of it leads nowhere.
set -eu
command -v mkdocs >/dev/null || { echo "mkdocs is not installed" && exit 77; }
root=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d) && trap 'rm -rf "$tree"' EXIT
python3 "$root/packaging/site/site.py" "$1" "$tree/site" 2>"$tree/said" || { cat "$tree/said" && exit 1; }
python3 - "$tree/site" <<'END'
import glob, html.parser, os, sys, urllib.parse

site, lost, count = sys.argv[1], [], 0

class Links(html.parser.HTMLParser):
    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.found.append(value)

for page in glob.glob(site + "/**/*.html", recursive=True):
    if page.endswith("404.html"):
        continue
    links = Links()
    links.found = []
    with open(page, encoding="utf-8") as file:
        links.feed(file.read())
    for link in links.found:
        parts = urllib.parse.urlsplit(link)
        if parts.scheme or not parts.path:
            continue
        count += 1
        if not os.path.exists(os.path.join(os.path.dirname(page), urllib.parse.unquote(parts.path))):
            lost.append(f"{os.path.relpath(page, site)}: {link}")
for page, words in {"commands.html": "leadline sim", "c.html": "leadline_simulate", "python.html": "Trace.from_torch"}.items():
    with open(os.path.join(site, page), encoding="utf-8") as file:
        if words not in file.read():
            lost.append(f"{page}: nothing of {words}")
print("\n".join(lost) or f"{count} links lead somewhere")
sys.exit(bool(lost))
END
