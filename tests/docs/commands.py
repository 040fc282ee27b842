"""The command `timeball` of a page's shell: it runs in the process of the test, by the clock of the page's Timeball.

A process of its own would take half a second of processor time for each command, and would wait by a real clock.
"""

import contextlib
import io
import json
import socketserver
import sys
import threading
from pathlib import Path
from typing import Any, Self

import httpx

from tests.docs.readme import ROOT
from timeball.cli.main import run
from timeball.cli.surroundings import Surroundings

OF_THEIR_OWN = ("dev", "listen", "mcp", "worker")
"""Commands that go on until they are ended: each is a process of its own."""

_SHIM = """#!{python} -IS
import json, os, socket, sys
if sys.argv[1:2] and sys.argv[1] in {own}:
    os.execv("{real}", ["{real}", *sys.argv[1:]])
asked = {{"arguments": sys.argv[1:], "environment": dict(os.environ), "folder": os.getcwd(),
         "is_terminal": sys.stdout.isatty(), "input": sys.stdin.read()}}
if asked["is_terminal"]:
    asked["environment"]["COLUMNS"] = str(os.get_terminal_size(1).columns)
with socket.socket(socket.AF_UNIX) as one, one.makefile("rw") as stream:
    one.connect("{path}")
    stream.write(json.dumps(asked) + "\\n")
    stream.flush()
    answer = json.loads(stream.readline())
sys.stderr.write(answer["errors"])
sys.stdout.write(answer["output"])
sys.exit(answer["status"])
"""


class _Output(io.StringIO):
    encoding = "utf-8"

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


class Commands:
    """Answers the command `timeball` that it puts into a folder."""

    def __init__(self, folder: Path, clock: Any) -> None:
        path = folder / "socket"
        shim = folder / "timeball"
        real = ROOT / ".venv/bin/timeball"
        shim.write_text(_SHIM.format(python=sys.executable, own=OF_THEIR_OWN, real=real, path=path))
        shim.chmod(0o755)

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                answer = _answer(json.loads(self.rfile.readline()), clock)
                self.wfile.write(json.dumps(answer).encode() + b"\n")

        self._server = socketserver.UnixStreamServer(str(path), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _answer(asked: dict[str, Any], clock: Any) -> dict[str, Any]:
    output, errors = _Output(is_terminal=asked["is_terminal"]), _Output(is_terminal=False)
    transport = httpx.HTTPTransport()
    surroundings = Surroundings(
        now=clock.now,
        pause=clock.advance,
        environment=asked["environment"],
        stdin=io.StringIO(asked["input"]),
        stdout=output,
        stderr=errors,
        transport=transport,
    )
    with transport, contextlib.chdir(asked["folder"]):
        try:
            status = run(asked["arguments"], surroundings)
        except TimeoutError as late:
            errors.write(f"{late}\n")
            status = 70
    return {"output": output.getvalue(), "errors": errors.getvalue(), "status": status}
