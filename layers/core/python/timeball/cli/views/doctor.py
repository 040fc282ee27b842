"""`timeball doctor`: names what is wrong with a Timeball and how to mend it; the exit status is 1 if something is."""

from collections.abc import Callable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import typer

from timeball.cli.connection import connect, path_of, profile_in
from timeball.cli.output import Column, show_list
from timeball.cli.problems import explained
from timeball.cli.status import Status
from timeball.cli.surroundings import Surroundings, surroundings_of
from timeball.cli.tree import Commands, Json
from timeball.cli.views.diagnoses import (
    Diagnosis,
    Judgement,
    about_clock,
    about_key,
    about_late_work,
    about_queues,
    about_quotas,
    about_reach,
    about_ticks,
    about_versions,
)
from timeball.client import Timeball
from timeball.client.calls import Reply
from timeball.client.errors import ApiError, ConfigurationError, error_of

app = Commands("Name what is wrong with a Timeball, and how to mend it.")

_COLUMNS = (
    Column("STATE", "state"),
    Column("CHECK", "check"),
    Column("FOUND", "found"),
    Column("MEND", "mend"),
)


@app.add()
def doctor(context: typer.Context, *, json: Json = None) -> Status:
    """Check that the API answers, the key, this clock, ticks, late work, queues, quotas and versions.

    The exit status is 1 if something is wrong; a warning alone is none.
    """
    surroundings = surroundings_of(context)
    findings = [_as_item(one) for one in _examined(surroundings)]
    show_list(surroundings, _COLUMNS, findings, json)
    return Status.BAD if any(one["state"] == Judgement.WRONG for one in findings) else Status.OK


def _as_item(finding: Diagnosis) -> Mapping[str, str | None]:
    return {"state": finding.state.value, "check": finding.check, "found": finding.found, "mend": finding.mend}


def _examined(surroundings: Surroundings) -> Iterator[Diagnosis]:
    """Yield the findings; without an answer, or without a key that is accepted, there is nothing more to examine."""
    client = connect(surroundings)
    health = _asked(client, "/healthz")
    yield from about_reach(profile_in(surroundings).url, health)
    if isinstance(health, ApiError) and health.status == 0:
        return
    me = _asked(client, "/v1/me")
    yield from about_key(me if isinstance(me, ApiError) else me.body, surroundings.now())
    if isinstance(me, ApiError):
        return
    yield from about_clock(_sent_at(me), surroundings.now())
    state = _asked(client, "/v1/now")
    yield from _if_answered("ticks", state, about_ticks)
    yield from _if_answered("late work", state, about_late_work)
    yield from _if_answered("queues", _asked(client, "/v1/stats"), about_queues)
    tenant = _asked(client, path_of("admin", "tenants", me.body["tenant"]))
    yield from _if_answered("quotas", tenant, about_quotas)
    yield from about_versions(me.body)


def _asked(client: Timeball, path: str) -> Reply | ApiError:
    try:
        reply = client.send("GET", path)
    except ApiError as error:
        return error
    except ConfigurationError as other:
        return error_of(404, {"detail": str(other)})
    is_timeball = "json" in reply.headers.get("content-type", "")
    return reply if is_timeball else error_of(404, {"detail": "What answers is no Timeball."})


def _sent_at(reply: Reply) -> int | None:
    """Return the instant (ms) at which the server says that it answered."""
    try:
        return int(parsedate_to_datetime(reply.headers["date"]).timestamp() * 1000)
    except (KeyError, ValueError):
        return None


def _if_answered(
    check: str, answer: Reply | ApiError, judge: Callable[[Mapping[str, Any]], Iterator[Diagnosis]]
) -> Iterator[Diagnosis]:
    if not isinstance(answer, ApiError):
        yield from judge(answer.body)
    elif answer.status in {403, 404}:
        yield Diagnosis(
            check, Judgement.UNKNOWN, "This key may not see it.", "Use a key without tags, for quotas an admin's."
        )
    else:
        yield Diagnosis(
            check, Judgement.WRONG, str(explained(answer)), "Ask again; if it stays, see the API function's log."
        )
