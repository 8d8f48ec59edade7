# SPDX-License-Identifier: Apache-2.0
"""Colours and width: what reaches a terminal, a pipe behind which a pager or head runs, and a file."""
import os
import subprocess
import tempfile

from screen import ESCAPE, TRAIN, end, environment, expect, on_terminal, widest

SIM = "leadline sim -c v100_sxm_16gb -c h100_sxm -c custom_example " + TRAIN
PAGE = "leadline sim -c v100_sxm_16gb --what-if " + TRAIN

coloured = on_terminal(PAGE)
expect(ESCAPE + b"[1;35m" in coloured, "a terminal shows the finding in its colour", coloured)
for name, value in (("NO_COLOR", "1"), ("TERM", "dumb"), ("TERM", "")):
    plain = on_terminal(PAGE, **{name: value})
    expect(b"ms/step" in plain and ESCAPE not in plain, f"{name}={value} gives no escape byte", plain)
expect(ESCAPE not in on_terminal(PAGE + " --color never"), "--color never gives no escape byte")
expect(ESCAPE in on_terminal(PAGE + " --color always", NO_COLOR="1"), "--color always is stronger than NO_COLOR")
expect(ESCAPE not in on_terminal(PAGE + " --json"), "JSON has no colours")
expect(ESCAPE not in on_terminal(PAGE + " | cat"), "a pipe gets no escape byte")
expect(ESCAPE in on_terminal(PAGE + " | cat", CLICOLOR_FORCE="1"), "CLICOLOR_FORCE colours a pipe")

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "page.txt")
    on_terminal(f"{PAGE} >{path} 2>&1; leadline plan -c dgx_h100 --batch 8 {TRAIN} >>{path} 2>&1")
    with open(path, "rb") as file:
        text = file.read()
    expect(b"ms/step" in text and ESCAPE not in text, "a file gets no escape byte", text)

blocks = "\u2588".encode()
expect(blocks in on_terminal(PAGE, LC_ALL="C.UTF-8") and b"[##" not in on_terminal(PAGE, LC_ALL="", LANG="de_DE.utf8"),
       "bars are of blocks where the locale is UTF-8")
expect(widest(on_terminal(PAGE, 80, LC_ALL="C.UTF-8")) <= 80, "bars of blocks keep the width")
for line, variables in ((PAGE, {"LC_ALL": "C", "LANG": "C.UTF-8"}), (PAGE + " | cat", {"LC_ALL": "C.UTF-8"})):
    expect(blocks not in on_terminal(line, **variables), "bars are ASCII elsewhere")

wrong = subprocess.run(PAGE.split() + ["--color", "red"], env=environment(), capture_output=True, check=False)
expect(wrong.returncode == 2 and b"expected auto, always or never" in wrong.stderr, "a colour is no time to colour")

for columns in (60, 80, 100):
    head = on_terminal(SIM + " | head -20", columns)
    expect(widest(head) <= columns, f"behind head nothing wraps on {columns} columns", head)
    expect(widest(head) > columns - 25, f"the width of {columns} columns is used", head)
narrow = on_terminal(SIM + " | head -20", 80)
expect(b"hidden for want of room: " in narrow, "what is hidden is named", narrow)
expect(widest(on_terminal(SIM, 80, COLUMNS="132")) > 100, "COLUMNS is stronger than the terminal")
alone = subprocess.run(SIM.split(), env=environment(), capture_output=True, check=False, stdin=subprocess.DEVNULL,
                       start_new_session=True)
expect(alone.returncode == 0 and widest(alone.stdout) <= 80, "without any terminal the width is 80", alone.stdout)
progress = on_terminal(f"leadline plan -c dgx_h100 --batch 64 {TRAIN}", TERM="dumb")
expect(ESCAPE not in progress, "progress on a dumb terminal has no escape byte", progress)
end()
