# SPDX-License-Identifier: Apache-2.0
"""tab.py SHELL...: what Tab completes in shells as a new user has them: `-c h1` to machines, the commands' own names. Where
leadline is installed for all."""
import os
import re
import signal
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "terminal"))
from screen import Terminal, end, expect

SHELLS = {"bash": "bash --rcfile /etc/skel/.bashrc -i", "zsh": "zsh -f -i", "fish": "fish -i"}
SETUP = {"zsh": b"autoload -Uz compinit && compinit -u\r"}  # what a new user's first start offers to do
CASES = ((b"leadline sim -c h1", b"h100_sxm"), (b"leadline machi", b"machines"), (b"leadline sim --what", b"--what-if"))


def styled(text):
    """A pattern of a text that may change its colour between any two letters."""
    return rb"(\x1b[(\[][0-9;]*[A-Za-z])*".join(re.escape(bytes([letter])) for letter in text)


for shell in sys.argv[1:]:
    for typed, completed in CASES:
        with tempfile.TemporaryDirectory() as home:
            terminal = Terminal("exec " + SHELLS[shell], 100, HOME=home, LC_ALL="C.UTF-8")
            if shell == "fish" and terminal.read(rb"\x1b\[0?c", 5):  # asks what terminal this is
                terminal.press(b"\x1b[?62c")
            terminal.press(SETUP.get(shell, b"") + b"echo re''ady\r")
            started = terminal.read(rb"ready", 30)
            terminal.output = b""
            terminal.press(typed)
            for _ in range(3):  # what is common to all; what there is, in bash only when asked twice
                terminal.press(b"\t")
                found = terminal.read(styled(completed), 15)
                if found:
                    break
            expect(started and found, f"{shell} completes `{typed.decode()}`", terminal.output)
            os.kill(terminal.pid, signal.SIGKILL)
            terminal.status()
    print(f"- {shell}: Tab completes")
end()
