# SPDX-License-Identifier: Apache-2.0
"""Programs on a terminal of a given size, as a shell starts them. Imported by the scripts of this folder."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TRAIN = os.path.join(ROOT, "traces", "alexnet_train_b8.llt")
ESCAPE = b"\x1b"
failed = []


def expect(holds, sentence, output=b""):
    """Notes a sentence that does not hold, with what was printed."""
    if not holds:
        failed.append(sentence)
        print("not so:", sentence)
        print(output[-3000:].decode("utf-8", "replace"))


def end():
    sys.exit(1 if failed else 0)


def environment(**more):
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**kept, "LC_ALL": "C", "TERM": "xterm", **more}


class Terminal:
    """A shell command line whose streams are a terminal of so many columns."""

    def __init__(self, line, columns=80, folder=None, **variables):
        self.pid, self.screen = pty.fork()
        if self.pid == 0:
            os.chdir(folder or "/")
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
            os.execvpe("sh", ["sh", "-c", line], environment(**variables))
        self.output = b""

    def read(self, until=None, limit_s=120):
        """Reads until a pattern was printed, or the end. False when the time is over before."""
        stop = time.monotonic() + limit_s
        while until is None or not re.search(until, self.output):
            ready, _, _ = select.select([self.screen], [], [], max(0, stop - time.monotonic()))
            if not ready:
                return False
            try:
                part = os.read(self.screen, 65536)
            except OSError:  # Linux: the other side was closed
                part = b""
            if not part:
                return until is None
            self.output += part
        return True

    def press(self, keys):
        os.write(self.screen, keys)

    def status(self):
        _, status = os.waitpid(self.pid, 0)
        os.close(self.screen)
        return os.waitstatus_to_exitcode(status)


def on_terminal(line, columns=80, **variables):
    """What a command line prints on a terminal."""
    terminal = Terminal(line, columns, **variables)
    terminal.read()
    terminal.status()
    return terminal.output.replace(b"\r\n", b"\n")


def widest(output):
    """The longest line, as a screen shows it."""
    shown = re.sub(rb"\x1b\[[0-9;]*m", b"", output).decode("utf-8", "replace")
    return max(len(line) for line in shown.split("\n"))
