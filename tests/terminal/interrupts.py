# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C in long work: what can be kept is kept, and the last lines say what, where, and how to go on."""
import os
import re
import signal
import subprocess
import tempfile
import time

from screen import ROOT, TRAIN, Terminal, end, environment, expect

folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)


def interrupted(arguments, until=None, after_s=0.0):
    """Runs leadline in a log, interrupts it once it said `until`, or so long after it began; status and all it said."""
    process = subprocess.Popen(["leadline", *arguments], env=environment(), stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
    said = b""
    while until and until not in said:
        part = os.read(process.stdout.fileno(), 65536)
        if not part:
            break
        said += part
    time.sleep(after_s)
    process.send_signal(signal.SIGINT)
    said += process.stdout.read()
    return process.wait(), said


def was_interrupted(status):
    return status in (130, -signal.SIGINT)


def files():
    return sorted(os.listdir("."))


# record: the steps that are whole
status, said = interrupted(["record", "autoenc", "--steps", "400", "-o", "a.llt"], b"step ")
expect(was_interrupted(status) and b"interrupted after" in said and b"whole in a.llt" in said, "record keeps steps", said)
whole = subprocess.run(["leadline", "verify", "a.llt"], env=environment(), capture_output=True, check=False)
expect(whole.returncode == 0, "what record keeps is a whole trace", whole.stdout + whole.stderr)
expect(b"\"steps\": 400" not in subprocess.run(["leadline", "info", "a.llt", "--json"], env=environment(), capture_output=True,
                                       check=False).stdout, "the trace has fewer steps")

# plan: the best until then
subprocess.run(["leadline", "record", "llama", "--dry-run", "--train", "--batch", "1", "-p", "layers=24", "-o", "g.llt"], env=environment(),
               capture_output=True, check=True)
status, said = interrupted(["plan", "-c", "dgx_h100", "--set", "network.infiniband.devices=64", "--devices", "512",
                            "--batch", "1536", "g.llt"], after_s=1.0)
expect(was_interrupted(status) and b"interrupted: the best plan" in said and b"plans considered" in said,
       "plan shows the best plan until then", said)

# sweep: what was evaluated, and the same command goes on
with open("s.yaml", "w", encoding="utf-8") as file:
    file.write(f"base: custom_example\ntraces: [{TRAIN}]\nobjectives: [min time_s]\n"
               "vary: {clock: {from: 1GHz, to: 2GHz, points: 1500}, memory.hbm.bandwidth: {from: 1TB/s, to: 2TB/s, points: 600}}\n")
status, said = interrupted(["sweep", "s.yaml", "-o", "s.db", "-j", "1"], after_s=1.5)
expect(was_interrupted(status) and b"the same command goes on" in said, "sweep keeps points", said)
status, said = interrupted(["sweep", "s.yaml", "-o", "s.db", "-j", "1"], after_s=11.0)
expect(was_interrupted(status) and b"already in the" in b" ".join(said.split()), "the same command goes on", said)
expect(b" % " in said and b" left\n" in said, "a log gets the share and the time left", said)

# calibrate: the measurements, where they are to be kept; else nothing stays behind
status, said = interrupted(["calibrate", "--seconds", "1", "--threads", "1", "-o", "host.yaml"], after_s=1.0)
expect(was_interrupted(status) and b"no machine is written" in said and b"--keep" in said, "calibrate says what is lost", said)
expect("host.yaml" not in files(), "an interrupted calibration writes no machine")

# import, validate: nothing can be kept
with open("rows.csv", "w", encoding="utf-8") as file:
    file.write("source,hardware,op,dtype,dims,time_s,notes\n" +
               "".join(f"t,h,gemm,fp32,m={i};n=64;k=64;ta=N;tb=N,0.001,\n" for i in range(1, 400000)))
status, said = interrupted(["import", "csv", "rows.csv", "-o", "rows.llt"], after_s=0.15)
expect(was_interrupted(status) and b"nothing is written to rows.llt" in said, "import says that nothing is kept", said)
expect(not [name for name in files() if name.startswith("rows.llt")], "an interrupted import leaves no file behind")
status, said = interrupted(["validate", os.path.join(ROOT, "tests", "validation", "measured_h100.csv")], after_s=0.3)
expect(was_interrupted(status) and b"nothing is written; the same command" in said, "validate says that nothing is kept", said)

# study: those that are done
status, said = interrupted(["study", "F-T2", "F1", "T-T2", "-o", "studies"], b"study 2 of 3", 0.05)
expect(was_interrupted(status) and b"1 of 3 studies are done" in said and b"leadline study -o studies F1 T-T2" in said,
       "study says which are done and how to go on", said)
expect(os.path.exists("studies/F-T2.html"), "the files of a study that is done are kept")

# import, validate: how far they are, on a terminal alone where they are short
with open("many.csv", "w", encoding="utf-8") as file:
    file.write("source,hardware,op,dtype,dims,time_s,notes\n" +
               "".join(f"t,h100_sxm,gemm,fp32,m={i};n={i % 977 + 1};k={i % 577 + 1};ta=N;tb=N,0.001,\n" for i in range(1, 40000)))
for line, told in (("import csv many.csv -o many.llt", rb"import  \d+ %  recording"), ("validate many.csv", rb"validate  \d+ %")):
    terminal = Terminal("leadline " + line, folder=folder.name)
    terminal.read()
    expect(terminal.status() == 0 and re.search(told, terminal.output), line + " tells how far it is", terminal.output)
    log = subprocess.run(["leadline", *line.split()], env=environment(), capture_output=True, check=False)
    expect(log.returncode == 0 and b" %  " not in log.stderr and b"\r" not in log.stderr, "a short one says nothing in a log", log.stderr)

# On a terminal the key does it.
terminal = Terminal("leadline record autoenc --steps 100000 -o b.llt", folder=folder.name)
expect(terminal.read(rb"step \d+ of 100000"), "steps are told on a terminal", terminal.output)
terminal.press(b"\x03")
terminal.read()
expect(was_interrupted(terminal.status()) and b"whole in b.llt" in terminal.output, "Ctrl-C on a terminal keeps steps", terminal.output)
expect(b"\x1b" not in terminal.output, "progress needs no escape sequences", terminal.output)
os.chdir("/")
end()
