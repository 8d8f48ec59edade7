# SPDX-License-Identifier: Apache-2.0
"""language_server.py LEADLINE: what an editor with yaml-language-server shows of a machine file: the mistakes that are
planted in it, each in its line, and no other. 77 without the server."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading

SERVER = shutil.which("yaml-language-server")
if not SERVER:
    print("yaml-language-server is not installed")
    sys.exit(77)

MISTAKES = {2: "clok: 1GHz", 4: "  - {name: array, model: sistolic, rows: 64, cols: 64, macs: {bf16: 1}}",
            6: "  - {name: hbm, size: 16, bandwidth: 1TB/s}"}
RIGHT = {1: "name: Mine", 3: "units:", 5: "memory:"}


class Server:
    """The language server protocol on its streams, as far as it is needed."""

    def __init__(self):
        self.process = subprocess.Popen([SERVER, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        watchdog = threading.Timer(300, self.process.kill)
        watchdog.daemon = True
        watchdog.start()

    def send(self, method, params, number=None):
        message = {"jsonrpc": "2.0", "method": method, "params": params, **({} if number is None else {"id": number})}
        self.write(message)

    def write(self, message):
        body = json.dumps(message).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def read(self):
        length = 0
        while (line := self.process.stdout.readline().strip()):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        if length == 0:
            raise EOFError("the server has ended")
        return json.loads(self.process.stdout.read(length))


def diagnose(path, text):
    server, uri = Server(), "file://" + path
    server.send("initialize", {"processId": os.getpid(), "rootUri": None,
                               "capabilities": {"workspace": {"configuration": True}}}, 1)
    try:
        while True:
            message = server.read()
            if message.get("id") == 1 and "result" in message:
                server.send("initialized", {})
                server.send("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "yaml", "version": 1,
                                                                      "text": text}})
            elif message.get("method") == "workspace/configuration":
                server.write({"jsonrpc": "2.0", "id": message["id"],
                              "result": [{"validate": True, "schemaStore": {"enable": False}} if item.get("section") == "yaml"
                                         else None for item in message["params"]["items"]]})
            elif message.get("method") == "textDocument/publishDiagnostics" and message["params"]["uri"] == uri:
                return message["params"]["diagnostics"]
            elif "id" in message and "method" in message:
                server.write({"jsonrpc": "2.0", "id": message["id"], "result": None})
    finally:
        server.process.kill()
        server.process.wait()


with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "machine.schema.json"), "wb") as file:
        subprocess.run([sys.argv[1], "schema", "machine"], check=True, stdout=file)
    lines = {0: "# yaml-language-server: $schema=machine.schema.json", **RIGHT, **MISTAKES}
    found = diagnose(os.path.join(folder, "mine.yaml"), "".join(lines[i] + "\n" for i in sorted(lines)))
for one in found:
    print(f"{one['range']['start']['line']}: {one['message'][:100]}")
if {one["range"]["start"]["line"] for one in found} != set(MISTAKES):
    print(f"expected mistakes in lines {sorted(MISTAKES)}")
    sys.exit(1)
