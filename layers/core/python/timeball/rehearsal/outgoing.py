"""A call as it leaves: the request of a webhook, or the facts that a target of AWS gets, with the virtual instant."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from timeball.domain.attempts.callback_token import token_of
from timeball.domain.model.terms.target import HttpTarget, arns_of
from timeball.domain.time.instants import format_instant
from timeball.domain.time.schedule import Cron
from timeball.ports.target import Call
from timeball.rehearsal.calls import Called
from timeball.rehearsal.in_memory import SIGNING_SECRET, InMemory
from timeball.rehearsal.moments import moment_of
from timeball.targets.envelope import as_headers, facts_of
from timeball.targets.http.request import HttpRequest, request_of
from timeball.targets.http.signing_keys import KeyRing

NOW_HEADER: Final = "Timeball-Now"
"""The header with the virtual instant."""


@dataclass(frozen=True)
class Outgoing:
    """A call that leaves now."""

    called: Called
    """The call as its target sees it."""
    request: HttpRequest | None
    """The request; None: the target is one of AWS."""
    token: str | None
    """The token with which the target may report; None: it may not."""


def outgoing(memory: InMemory, ring: KeyRing, call: Call) -> Outgoing:
    """Return a call as it leaves now. Raises UncallableError, TemplateError and NoKeyError, each with a sentence."""
    now, target, token = memory.clock.now(), call.work.target, None
    if call.takes_report:
        token = token_of(call.run, call.attempt, memory.store.signing.secrets(SIGNING_SECRET).signing(now))
    job = memory.store.jobs.get(call.run.job)
    timing = None if job is None else job.spec.schedule.timing
    zone = timing.timezone if isinstance(timing, Cron) else "UTC"
    run, fire_time = call.run, moment_of(call.run.fire_at)
    called = Called(run.job.job_id, str(run), call.attempt, fire_time, moment_of(now), "", zone=zone)
    if isinstance(target, HttpTarget):
        keys = () if target.secret_id is None else _keys(ring, run.job.tenant, target.secret_id)
        # One's own code verifies a signature by the clock of this machine, and does not know of the rehearsal.
        request = request_of(call, time.time_ns() // 1_000_000 if keys else now, token, keys)
        request = replace(request, headers={**request.headers, NOW_HEADER: format_instant(now)})
        called = replace(called, url=str(request.url), method=request.method, headers=lower(request.headers))
        return Outgoing(replace(called, body=(request.body or b"").decode("utf-8", "replace")), request, token)
    arn = next(iter(arns_of(target).values()))[0]
    headers = lower(as_headers(facts_of(call, token))) | {NOW_HEADER.lower(): format_instant(now)}
    return Outgoing(replace(called, url=arn, headers=headers, body=call.work.payload or ""), None, token)


def _keys(ring: KeyRing, tenant: str, name: str) -> tuple[bytes, ...]:
    return ring.known(tenant, name) or ring.keep(name, ring.find(name))


def lower(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers by their names in lower case."""
    return {name.lower(): value for name, value in headers.items()}
