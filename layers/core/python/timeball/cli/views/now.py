"""`timeball now`: what is late, what runs, what failed and what fires next, on one page."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import typer

from timeball.cli.connection import connect
from timeball.cli.output import Column, show_list, show_one, terminal_of, title
from timeball.cli.problems import explained
from timeball.cli.status import CommandError, Status
from timeball.cli.surroundings import Surroundings, surroundings_of
from timeball.cli.tree import Commands, Json
from timeball.client.errors import ApiError

app = Commands("Show what is late, what runs, what failed and what fires next.")

_BUSY_SECONDS: Final = 2.0
_CALM_SECONDS: Final = 5.0
_LONGEST_SECONDS: Final = 120.0
_SHOWN: Final = 20
"""How many lines of each part a person sees."""


def _waits_for(attention: Mapping[str, Any]) -> str | None:
    waits = attention["waitsFor"]
    return None if waits is None else " ".join(filter(None, (waits["kind"], waits["ref"])))


_ATTENTION = (
    Column("KIND", "kind"),
    Column("JOB", "jobId"),
    Column("SINCE", "since"),
    Column("RUN", "runId"),
    Column("WAITS FOR", _waits_for),
)
_RUNNING = (
    Column("RUN", "runId"),
    Column("STATUS", "status"),
    Column("STARTED", lambda run: run["startedAt"] or run["claimedAt"]),
    Column("ATTEMPT", "attempt"),
    Column("P95 (S)", "p95Seconds"),
)
_NEXT = (
    Column("FIRE TIME", "fireTime"),
    Column("JOB", "jobId"),
    Column("STARTS", "startsAt"),
    Column("WILL NOT RUN", lambda fire: None if fire["willRun"] else fire["reason"] or "no"),
)
_FREEZES = (Column("FREEZE", "freezeId"), Column("STATUS", "status"), Column("TO", "to"), Column("REASON", "reason"))
_FAILURES = (Column("JOB", "jobId"), Column("COUNT", "count"), Column("LAST", "lastAt"), Column("ERROR", "error"))
_SECTIONS = (
    ("Needs you", "needsAttention", _ATTENTION),
    ("Running", "running", _RUNNING),
    ("Failed for good", "deadLetterGroups", _FAILURES),
    ("Freezes", "freezes", _FREEZES),
    ("Next", "next", _NEXT),
)
_LINES = (
    Column("KIND", "kind"),
    Column("JOB", "jobId"),
    Column("RUN", "runId"),
    Column("AT", "at"),
    Column("ABOUT", "about"),
)
"""The columns in a pipe, where all parts are one list."""


@app.add()
def now(
    context: typer.Context,
    *,
    watch: Annotated[bool, typer.Option("--watch", help="Show it again and again, until Ctrl-C.")] = False,
    json: Json = None,
) -> None:
    """Show what is late, what runs, what failed and what fires next."""
    surroundings = surroundings_of(context)
    client = connect(surroundings)
    if watch and not surroundings.is_terminal:
        raise CommandError("--watch draws a screen again and again: it needs a terminal.")
    if not watch:
        _show(surroundings, client.request("GET", "/v1/now"), json)
        return
    wait = _BUSY_SECONDS
    while True:
        try:
            state = client.request("GET", "/v1/now")
        except ApiError as error:
            refused = explained(error)
            if refused is None or refused.status not in {Status.UNAVAILABLE, Status.QUOTA}:
                raise
            surroundings.say(str(refused))
            wait = min(_LONGEST_SECONDS, wait * 2)
        else:
            terminal_of(surroundings).clear()
            _show(surroundings, state, None)
            wait = _BUSY_SECONDS if state["running"] else _CALM_SECONDS
        surroundings.stdout.flush()
        surroundings.pause(wait)


def _show(surroundings: Surroundings, state: Mapping[str, Any], fields: str | None) -> None:
    if fields is not None:
        show_one(surroundings, (), state, fields)
    elif surroundings.is_terminal:
        _show_page(surroundings, state)
    else:
        show_list(surroundings, _LINES, _lines(state))


def _show_page(surroundings: Surroundings, state: Mapping[str, Any]) -> None:
    health = state["health"]
    facts = {
        "as of": state["asOf"],
        "last tick": health["lastTickAt"],
        "oldest due": health["oldestDueAt"],
        "late by (s)": health["lateness"] and f"p50 {health['lateness']['p50']}, p99 {health['lateness']['p99']}",
    }
    show_one(surroundings, [Column(name, name) for name in facts], facts)
    for name, part, columns in _SECTIONS:
        items: Sequence[Mapping[str, Any]] = state[part]
        if items:
            title(surroundings, f"{name} ({len(items)})")
            show_list(surroundings, columns, items[:_SHOWN])
    more = (state["nextCount"] or 0) - _SHOWN
    if more > 0:
        surroundings.say(f"{more} more fires come within the hour; in a pipe, `timeball now` lists up to 200.")


def _lines(state: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return all parts as one list."""
    needs = [{**one, "at": one["since"], "about": _waits_for(one)} for one in state["needsAttention"]]
    running = [{**one, "kind": "running", "at": one["startedAt"] or one["claimedAt"]} for one in state["running"]]
    failed = [
        {**one, "kind": "failed", "at": one["lastAt"], "about": f"{one['count']}: {one['error']}"}
        for one in state["deadLetterGroups"]
    ]
    frozen = [{"kind": "freeze", "at": one["from"], "about": one["reason"]} for one in state["freezes"]]
    fires = [
        {**one, "kind": "next" if one["willRun"] else "held", "at": one["fireTime"], "about": one["reason"]}
        for one in state["next"]
    ]
    return [*needs, *running, *failed, *frozen, *fires]
