#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""labels.py FILE.svg...: do the labels of figures collide, or leave the page?

Each text becomes a box as wide as Helvetica sets it (Adobe's metrics of the standard faces, in thousandths of the
size), from the descenders to the capitals, turned as the text is. No two boxes overlap, all lie within the page, and
every colour of a mark has a contrast of at least 3 to 1 with the ground, in the light scheme and in the dark one
(WCAG 2.2, 1.4.11)."""
import math
import re
import sys
import xml.etree.ElementTree as ElementTree

WIDTHS = dict(zip(map(chr, range(32, 127)), [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
    556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833,
    722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556,
    556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334,
    260, 334, 584]))
CAPITALS, DESCENDERS = 0.718, 0.207  # of the size, above and below the baseline
BOLD = 1.06                          # Helvetica-Bold sets text about so much wider
TOUCH = 0.5                          # pixels that boxes may share
SVG = "{http://www.w3.org/2000/svg}"


def box_of(text):
    """The corners of a text's box, in order."""
    words = "".join(text.itertext())
    size = float(text.get("font-size"))
    width = sum(WIDTHS.get(c, 556) for c in words) * size / 1000
    if text.get("font-weight") == "bold":
        width *= BOLD
    x, y = float(text.get("x")), float(text.get("y"))
    left = x - {"start": 0, "middle": width / 2, "end": width}[text.get("text-anchor")]
    corners = [(left, y - CAPITALS * size), (left + width, y - CAPITALS * size), (left + width, y + DESCENDERS * size),
               (left, y + DESCENDERS * size)]
    turn = re.match(r"rotate\((\S+) (\S+) (\S+)\)$", text.get("transform", ""))
    if not turn:
        return corners
    angle, cx, cy = math.radians(float(turn[1])), float(turn[2]), float(turn[3])
    return [(cx + (a - cx) * math.cos(angle) - (b - cy) * math.sin(angle),
             cy + (a - cx) * math.sin(angle) + (b - cy) * math.cos(angle)) for a, b in corners]


def overlap(one, other):
    """How deep two convex boxes reach into each other: no more than along the axis on which they share least."""
    least = math.inf
    for box in one, other:
        for i in range(2):
            dx, dy = box[i + 1][0] - box[i][0], box[i + 1][1] - box[i][1]
            length = math.hypot(dx, dy)
            if length == 0:
                return 0
            spans = [[(dx * x + dy * y) / length for x, y in b] for b in (one, other)]
            least = min(least, min(max(spans[0]), max(spans[1])) - max(min(spans[0]), min(spans[1])))
    return least


def luminance(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def faults_of_colours(style):
    themed = {name: (light, dark) for names, light, dark in re.findall(
        r"([^{}\n]*)\{[a-z]*:[^;{}]*;[a-z]*:light-dark\((#\w{6}),(#\w{6})\)\}", style) for name in names.split(",")}
    grounds = themed.get(".ll-page")
    if not grounds:
        yield "no ground that follows the theme"
        return
    for name, colours in themed.items():
        if name in (".ll-page", ".ll-blank", ".ll-halo", ".ll-gap", ".ll-grid"):  # the ground itself, and decoration
            continue
        for ground, colour in zip(grounds, colours):
            if contrast(ground, colour) < 3:
                yield f"{name} {colour} on {ground}: contrast {contrast(ground, colour):.2f}"


def faults_of(path):
    root = ElementTree.parse(path).getroot()
    _, _, width, height = map(float, root.get("viewBox").split())
    boxes = [("".join(t.itertext()), box_of(t)) for t in root.iter(SVG + "text") if "".join(t.itertext()).strip()]
    if not boxes:
        yield "no text"
    for words, box in boxes:
        if any(x < -TOUCH or y < -TOUCH or x > width + TOUCH or y > height + TOUCH for x, y in box):
            yield f"`{words}` leaves the page"
    for i, (words, box) in enumerate(boxes):
        for others, other in boxes[:i]:
            if overlap(box, other) > TOUCH:
                yield f"`{words}` lies on `{others}`"
    yield from faults_of_colours(root.find(SVG + "style").text)


def main(paths):
    count = 0
    for path in paths:
        for fault in faults_of(path):
            print(f"{path}: {fault}")
            count += 1
    if not paths:
        print("no figure")
    return 1 if count or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
