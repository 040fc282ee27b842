"""All of Timeball in this process, with its authorizer, on one clock: what the console's pages talk to in tests.

`World.until` plays the engine. Targets answer by the path of their URL, so a job says how its runs end:
`/slow/40` answers after 40 s, `/fail/503` with that status, `/flaky` fails at the first attempt of each run, `/accept`
answers 202 and never reports, `/say/…` answers with the decoded rest of the path; any other URL answers 200 at once.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.api.client import OPERATING, Answer, event_of
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import SECOND_MS, parse_instant
from timeball.engine.context import Rules
from timeball.ports.target import Answer as TargetAnswer
from timeball.ports.target import Call
from timeball.rehearsal.in_memory import Event, InMemory
from timeball.targets.aws.allowed import NONE_ALLOWED, AllowedArns
from timeball.targets.http.verdict import ACCEPTED, answered
from timeball.testing.recorders import MemoryTrials
from timeball.testing.virtual_clock import VirtualClock

STARTS_AT = parse_instant("2026-11-23T09:30:00Z")
"""A Monday morning."""


@dataclass
class ScriptedTarget:
    """A target whose answers are in its URLs."""

    clock: VirtualClock
    calls: list[Call] = field(default_factory=list)

    async def prepare(self, call: Call) -> None:
        """Fetch nothing."""

    async def call(self, call: Call) -> TargetAnswer:
        self.calls.append(call)
        called_at = self.clock.now()
        seconds, status, body = _script(call)
        await self.clock.sleep_until(called_at + seconds * SECOND_MS)
        return answered(call, called_at, self.clock.now(), status, body)


def _script(call: Call) -> tuple[int, int, str]:
    """Return how long (s) a call takes, and the status and the body that answer it."""
    target = call.work.target
    path = urlsplit(target.url).path if isinstance(target, HttpTarget) else "/"
    _, kind, rest = f"{path}//".split("/", 2)
    rest = rest.rstrip("/")
    if kind == "slow":
        return int(rest), 200, json.dumps({"rows": 1284})
    if kind == "fail":
        return 1, int(rest), json.dumps({"error": f"The warehouse answered {rest}."})
    if kind == "flaky" and call.attempt == 1:
        return 2, 503, "Try again."
    if kind == "accept":
        return 0, ACCEPTED, ""
    if kind == "say":
        return 0, 500, unquote(rest)
    return 0, 200, json.dumps({"ok": True})


class World:
    """The API in memory with its authorizer, and an engine that works when the clock is moved by `until`."""

    def __init__(self, at: int = STARTS_AT, allowed: AllowedArns = NONE_ALLOWED) -> None:
        rules = Rules(shards=1, runs_per_message=1)
        self.trials = MemoryTrials()
        self.memory = InMemory(at, (OPERATING, "globex"), rules, console="", trials=self.trials, allowed=allowed)
        self.store, self.clock, self.keys = self.memory.store, self.memory.clock, self.memory.keys
        self.target = self.memory.caller = ScriptedTarget(self.clock)

    def handle(self, event: Event) -> Mapping[str, Any]:
        """Answer an event of the HTTP API that has no authorizer's answer yet."""
        return self.memory.handle(event)

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        key: str | None = None,
        query: Mapping[str, str | Sequence[str]] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request with the key of an admin, or another; an empty key sends none."""
        key = self.keys["admin"] if key is None else key
        sent = {**({"authorization": f"Bearer {key}"} if key else {}), **(headers or {})}
        event = event_of(method, path, None, sent, query or {})
        if body is not None:
            event["body"] = json.dumps(body)
        answer = self.handle(event)
        return Answer(answer["statusCode"], answer["headers"], answer["body"])

    def send(self, method: str, path: str, body: object = None) -> Any:
        """Send a request that succeeds, with the key of an admin; return the body of its answer."""
        answer = self.call(method, path, body)
        assert answer.status < 300, f"{method} {path}: {answer.text}"
        return answer.body if answer.text else None

    def code(self, role: str = "admin") -> str:
        """Return a fresh one-time code."""
        made = self.call("POST", "/v1/sessions/codes", key=self.keys[role])
        return str(made.body["code"])

    def until(self, at: int) -> None:
        """Let the engine work until an instant (ms)."""
        self.memory.until(at)

    def advance(self, seconds: float) -> None:
        """Let the engine work for so many seconds."""
        self.memory.advance(seconds)

    def close(self) -> None:
        """End the engine."""
        self.memory.close()
