"""A reader's terminal in front of a Timeball in memory: blocks are pasted into it, and its output is read."""

import json
import os
import pty
import queue
import re
import signal
import socket
import subprocess
import termios
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

from tests.api.client import SECRET
from tests.console.server import ConsoleServer
from tests.console.world import STARTS_AT, ScriptedTarget, World
from tests.docs.commands import Commands
from tests.docs.readme import ROOT
from tests.docs.work_queue import ARN, WorkQueue
from timeball.domain.attempts.callback_token import token_of
from timeball.domain.model.terms.target import HttpTarget, SqsTarget
from timeball.ports.target import Answer, Call
from timeball.targets.aws.allowed import AllowedArn, AllowedArns
from timeball.targets.calls import unanswered
from timeball.targets.http.request import request_of
from timeball.targets.http.verdict import answered
from timeball.testing.gateway import sent_body

LATER = "/_later/"
"""The path at which the terminal's own `sleep` lets time pass."""
PORT = "9000"
"""The port at which the pages' own programs listen."""
WITHIN_SECONDS = 120
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_SLEEP = """#!/bin/sh
exec curl -fsS -o /dev/null "$SERVER{later}$1"
"""


@dataclass
class LocalTarget(ScriptedTarget):
    """Programs of this machine are really called, while the clock stands; other targets answer as scripted."""

    own: str = ""
    """The address of the API in memory: a call of itself while it works would wait for itself."""
    queue: WorkQueue = field(default_factory=WorkQueue)
    """The queue of the targets of SQS."""

    async def call(self, call: Call) -> Answer:
        target = call.work.target
        if isinstance(target, SqsTarget):
            return self.queue.put(call, self.clock.now())
        if not isinstance(target, HttpTarget) or target.url.startswith(self.own):
            return await super().call(call)
        if urlsplit(target.url).hostname not in {"localhost", "127.0.0.1"}:
            return await super().call(call)
        self.calls.append(call)
        now = self.clock.now()
        token = token_of(call.run, call.attempt, SECRET) if call.takes_report else None
        request = request_of(call, now, token)
        try:
            answer = httpx.request(  # noqa: ASYNC210 - in virtual time; nothing else has to go on
                request.method, target.url, content=request.body, headers=request.headers, timeout=30
            )
        except httpx.HTTPError as error:
            return unanswered(call, now, now, f"{target.url}: {error}")
        return answered(call, now, now, answer.status_code, answer.text)


class PageServer(ConsoleServer):
    """A Timeball in memory for a page: a second passes with each request, and more if the reader sleeps."""

    def __init__(self) -> None:
        super().__init__()
        self.world.close()
        self.world = World(STARTS_AT, AllowedArns((AllowedArn("arn:*"),)))
        target = LocalTarget(self.world.clock, own=self.base)
        self.queue = target.queue
        self.world.memory.caller = target

    def advance(self, seconds: float) -> None:
        """Let the engine work for so many seconds; then time stands still until workers have done what they got."""
        super().advance(seconds)
        self.queue.wait_for_workers()

    def now(self) -> int:
        """Return the present instant (ms) of this Timeball."""
        return self.world.clock.now()

    def answer(self, event: dict[str, Any]) -> tuple[int, Mapping[str, str], bytes]:
        """Answer a request, or let time pass."""
        path = str(event["rawPath"])
        if path.startswith(LATER):
            self.advance(float(path.removeprefix(LATER)))
            return 204, {}, b""
        operation = str(event["headers"].get("x-amz-target", "")).removeprefix("AmazonSQS.")
        if operation:
            answer = self.queue.answer(operation, json.loads(sent_body(event)))
            return 200, {"Content-Type": "application/x-amz-json-1.0"}, json.dumps(answer).encode()
        return super().answer(event)

    def _catch_up(self) -> None:
        self.world.advance(1)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


@dataclass
class Output:
    """What a block printed, and how it ended."""

    text: str
    status: int


@dataclass
class Terminal:
    """A shell in a folder of its own, with Timeball's commands on its path.

    Programs see a terminal of 160 columns, and read nothing from it: a page that needs a key to be pressed cannot be
    pasted.
    """

    server: PageServer
    folder: Path
    port: int = field(default_factory=_free_port)
    """The free port that stands in for that of the pages."""
    _saved: dict[str, str] = field(default_factory=dict)
    _pasted: int = 0

    def __enter__(self) -> Self:
        commands = self.folder / ".commands"
        commands.mkdir()
        (commands / "sleep").write_text(_SLEEP.format(later=LATER))
        (commands / "sleep").chmod(0o755)
        self._commands = Commands(commands, self.server)
        self._commands.__enter__()
        self._output, ours = pty.openpty()
        termios.tcsetwinsize(ours, (40, 160))
        self._read: queue.Queue[str] = queue.Queue()
        self._shell = subprocess.Popen(
            ["bash", "--norc"],  # noqa: S607 - as a reader's
            stdin=subprocess.PIPE,
            stdout=ours,
            stderr=ours,
            text=True,
            cwd=self.folder,
            start_new_session=True,
            env={
                "PATH": f"{commands}:{ROOT / '.venv/bin'}:{os.environ['PATH']}",
                "HOME": str(self.folder),
                "TERM": "xterm",
                "NO_COLOR": "1",
                "LANG": "C.UTF-8",
                "SERVER": self.server.base.rstrip("/"),
                "PYTHONDONTWRITEBYTECODE": "1",
                **self._addresses(),
            },
        )
        os.close(ours)
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def _addresses(self) -> dict[str, str]:
        url, key = self.server.base.rstrip("/"), self.server.keys["admin"]
        queue = {"QUEUE_URL": f"{url}/123456789012/timeball-work", "QUEUE_ARN": ARN, "AWS_REGION": "eu-west-1"}
        aws = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
        return {"TIMEBALL_URL": url, "TIMEBALL_KEY": key, **queue, **aws}

    def __exit__(self, *exception: object) -> None:
        self._commands.__exit__()
        os.killpg(self._shell.pid, signal.SIGKILL)
        self._shell.wait()
        if self._shell.stdin:
            self._shell.stdin.close()

    def _listen(self) -> None:
        while True:
            try:
                read = os.read(self._output, 65536)
            except OSError:
                read = b""
            if not read:
                os.close(self._output)
                return
            self._read.put(read.decode(errors="replace"))

    def _placed(self, text: str) -> str:
        return text.replace(PORT, str(self.port))

    def save(self, name: str, text: str) -> None:
        """Save a block as a file."""
        self._saved[name] = text
        (self.folder / name).write_text(self._placed(text))

    def paste(self, text: str, *, goes_on: bool = False) -> Output:
        """Run a block in the shell; return what it printed, and the first status of a command that failed.

        `goes_on`: in the background, until the end of the page.
        """
        # A file of its own: one that goes on may not have been read when the next is written.
        self._pasted += 1
        block = self.folder / f".commands/block-{self._pasted}"
        block.write_text(self._placed(text))
        command = f"(. {block}) </dev/null &" if goes_on else f". {block} </dev/null"
        end = "the end of the block"
        script = f"failed=0; trap 'failed=$?' ERR\n{command}\ntrap - ERR; printf '\\n%s %s\\n' '{end}:' \"$failed\"\n"
        assert self._shell.stdin is not None
        self._shell.stdin.write(script)
        self._shell.stdin.flush()
        output = ""
        while (ended := re.search(rf"\r?\n{end}: (\d+)\r?\n", output)) is None:
            output += self._read.get(timeout=WITHIN_SECONDS)
        programs = [text, *(program for name, program in self._saved.items() if name in text)]
        if goes_on and any(PORT in program for program in programs):
            self._wait_for_port()
        shown = _STYLE.sub("", output[: ended.start()]).replace("\r\n", "\n").replace(str(self.port), PORT)
        return Output(shown, int(ended[1]))

    def _wait_for_port(self) -> None:
        """Return when a program listens."""
        until = time.monotonic() + WITHIN_SECONDS
        while time.monotonic() < until:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            time.sleep(0.05)  # the page's server is another process, which sends no signal
        raise TimeoutError(f"Nothing listens at the port {PORT} of the page.")
