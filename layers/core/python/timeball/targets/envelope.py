"""The facts of a run that every target gets, in the form of its type: one list of facts, and their names.

Headers and message attributes say `Timeball-Run-Id`, variables `TIMEBALL_RUN_ID`, and JSON `timeball.runId`.
"""

import json
import re
from collections.abc import Callable, Mapping

from timeball.domain.model.ids import RunId
from timeball.domain.templates.template import json_of
from timeball.domain.time.instants import format_instant
from timeball.ports.target import Call

Sign = Callable[[RunId, int], str]
"""Return the token of an attempt, by which its target may report. It may block."""

Facts = Mapping[str, str | int]
"""Facts by their names in camelCase."""

TRACEPARENT = "traceparent"
"""The name of the fact that is a trace context."""

MEMBER = "timeball"
"""The name of the facts within JSON."""


def facts_of(call: Call, token: str | None = None) -> Facts:
    """Return the facts of a call for its target; with `token` it may report on the attempt."""
    return {
        "tenant": call.run.job.tenant,
        "jobId": call.run.job.job_id,
        "runId": str(call.run),
        "attempt": call.attempt,
        "fireTime": format_instant(call.run.fire_at),
        "depth": call.depth,
        "scheduledBy": (call.origin or call.run.origin).value,
        **({} if call.task_id is None else {"taskId": call.task_id}),
        **({} if token is None else {"callbackToken": token}),
        **({} if call.traceparent is None else {TRACEPARENT: call.traceparent}),
    }


def as_headers(facts: Facts) -> dict[str, str]:
    """Return facts by the names of headers and message attributes. A trace context has the name that W3C gives it."""
    return {_header_of(name): str(fact) for name, fact in facts.items()}


def as_variables(facts: Facts, payload: str | None) -> dict[str, str]:
    """Return facts and the payload (JSON text, if there is one) by the names of environment variables."""
    named = {"TIMEBALL_" + "_".join(_words(name)).upper(): str(fact) for name, fact in facts.items()}
    return named if payload is None else {**named, "TIMEBALL_PAYLOAD": payload}


def as_json(facts: Facts, payload: str | None) -> str:
    """Return facts beside the members of a payload (JSON text), or beside `payload` if that is no object.

    Raises TemplateError for text that no request can contain, which a parent's answer may have brought.
    """
    given = {} if payload is None else json.loads(payload)
    members = given if isinstance(given, dict) else {"payload": given}
    return json_of({**members, MEMBER: facts})


def _header_of(name: str) -> str:
    return name if name == TRACEPARENT else "Timeball-" + "-".join(word.title() for word in _words(name))


def _words(name: str) -> list[str]:
    return re.findall(r"[A-Z]?[a-z]+", name)
