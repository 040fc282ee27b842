"""`timeball failures`: the runs that failed for good, by groups of the same error; replay them, or discard them."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from timeball.cli.connection import connect
from timeball.cli.following import Gauge, progress_bar
from timeball.cli.output import Column, Item, show_list, show_one
from timeball.cli.reading import instant_of, without_nones
from timeball.cli.status import CommandError, Status
from timeball.cli.surroundings import Surroundings, surroundings_of
from timeball.cli.tree import Commands, From, Json, Limit, To, Yes
from timeball.client import Timeball

app = Commands("List, replay and discard the runs that failed for good.")

_GROUPS = (
    Column("GROUP", "fingerprint"),
    Column("JOB", "jobId"),
    Column("COUNT", "count"),
    Column("FIRST", "firstAt"),
    Column("LAST", "lastAt"),
    Column("ERROR", "error"),
)
_RUNS = (
    Column("RUN", "runId"),
    Column("JOB", "jobId"),
    Column("DIED", "diedAt"),
    Column("REASON", "reason"),
    Column("HTTP", "httpStatus"),
    Column("ERROR", "error"),
)

Job = Annotated[str | None, typer.Option("--job", metavar="JOB", help="Only runs of this job.")]
Task = Annotated[str | None, typer.Option("--task", metavar="TASK", help="Only runs of this task.")]
Why = Annotated[str | None, typer.Option(help="Only with this reason, such as retries_exhausted.")]
Error = Annotated[str | None, typer.Option(help="Only with this text in the error.")]
Which = Annotated[
    list[str] | None, typer.Argument(metavar="[GROUP|RUN]...", help="One group, or runs; else the options choose.")
]
All = Annotated[bool, typer.Option("--all", help="All runs that failed for good.")]


@app.add("list")
def list_failures(
    context: typer.Context,
    *,
    runs: Annotated[bool, typer.Option("--runs", help="Each run by itself, in place of groups.")] = False,
    job: Job = None,
    task: Task = None,
    reason: Why = None,
    error: Error = None,
    after: From = None,
    before: To = None,
    limit: Limit = None,
    json: Json = None,
) -> None:
    """List the groups of runs that failed in the same way, the group with the newest first."""
    surroundings = surroundings_of(context)
    query = _filter(surroundings, job, task, reason, error, after, before)
    client = connect(surroundings)
    if runs:
        show_list(surroundings, _RUNS, client.pages("/v1/dead-letters", query=query), json, limit)
    else:
        show_list(surroundings, _GROUPS, _groups(client, query), json, limit)


def _groups(client: Timeball, query: Mapping[str, object]) -> Sequence[Item]:
    """Return the groups of all pages; a group that goes on on the next page is one."""
    groups: dict[str, dict[str, Any]] = {}
    for found in client.pages("/v1/dead-letters:groups", query=query):
        known = groups.setdefault(found["fingerprint"], {**found, "count": 0})
        known["count"] += found["count"]
        known["firstAt"] = min(known["firstAt"], found["firstAt"])
    return list(groups.values())


@app.add("show")
def show_failures(
    context: typer.Context,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="A group that `failures list` shows.")],
    *,
    limit: Limit = None,
    json: Json = None,
) -> None:
    """List the runs of a group, the newest first."""
    surroundings = surroundings_of(context)
    found = connect(surroundings).pages("/v1/dead-letters", query={"fingerprint": group}).all()
    if not found:
        raise CommandError(f"No run that failed for good is in the group {group}.", Status.NOT_FOUND)
    show_list(surroundings, _RUNS, found, json, limit)


@app.add("replay")
def replay_failures(
    context: typer.Context,
    which: Which = None,
    *,
    job: Job = None,
    task: Task = None,
    reason: Why = None,
    error: Error = None,
    after: From = None,
    before: To = None,
    all_runs: All = False,
    per_second: Annotated[
        int | None, typer.Option(min=1, max=1000, metavar="N", help="So many start each second; by default 10.")
    ] = None,
    yes: Yes = False,
    json: Json = None,
) -> Status:
    """Try runs that failed for good again, with a fresh budget of retries and at a pace."""
    surroundings = surroundings_of(context)
    filters = _filter(surroundings, job, task, reason, error, after, before)
    body = {**_chosen(which, filters, all_runs=all_runs), **without_nones(perSecond=per_second)}
    return _deal(surroundings, "replay", body, json, yes=yes)


@app.add("discard")
def discard_failures(
    context: typer.Context,
    which: Which = None,
    *,
    job: Job = None,
    task: Task = None,
    reason: Why = None,
    error: Error = None,
    after: From = None,
    before: To = None,
    all_runs: All = False,
    yes: Yes = False,
    json: Json = None,
) -> Status:
    """Take runs that failed for good off the list; their ledgers keep them."""
    surroundings = surroundings_of(context)
    filters = _filter(surroundings, job, task, reason, error, after, before)
    return _deal(surroundings, "discard", _chosen(which, filters, all_runs=all_runs), json, yes=yes)


def _filter(
    surroundings: Surroundings,
    job: str | None,
    task: str | None,
    reason: str | None,
    error: str | None,
    *between: str | None,
) -> dict[str, Any]:
    after, before = (instant_of(surroundings, text) for text in between)
    named = {"jobId": job, "taskId": task, "reason": reason, "error": error, "from": after, "to": before}
    return without_nones(**named)


def _chosen(which: Sequence[str] | None, filters: Mapping[str, Any], *, all_runs: bool) -> dict[str, Any]:
    """Return the part of a request that says which runs it is about."""
    ways = sum((bool(which), bool(filters), all_runs))
    if ways != 1:
        also = "one of these alone" if ways else "--all for every one"
        raise CommandError(f"Say which: a GROUP, RUNs, or options such as --job; {also}.")
    if not which:
        return {"filter": dict(filters)}
    if len(which) == 1 and "." not in which[0]:
        return {"fingerprint": which[0]}
    return {"runIds": list(which)}


def _deal(surroundings: Surroundings, verb: str, body: dict[str, Any], fields: str | None, *, yes: bool) -> Status:
    """Send the requests of a replay or a discard, page after page, and print what was done."""
    client = connect(surroundings)
    total = _count(client, body) if not yes or surroundings.stderr.isatty() else None
    surroundings.confirm(f"{verb.capitalize()} {total} runs?", yes=yes)
    done, refused, cursor = 0, list[str](), None
    with progress_bar(surroundings, verb) as show:
        while True:
            sent = {**body, "cursor": cursor} if cursor else body
            dealt = client.request("POST", f"/v1/dead-letters:{verb}", sent)
            done, refused, cursor = done + dealt["done"], refused + dealt["refused"], dealt["nextCursor"]
            show(Gauge(done, max(total or 0, done)))
            if cursor is None:
                break
    summary = {"done": done, "refused": refused}
    show_one(surroundings, (Column("done", "done"), Column("refused", "refused")), summary, fields)
    return Status.BAD if refused else Status.OK


def _count(client: Timeball, body: Mapping[str, Any]) -> int:
    if "runIds" in body:
        return len(body["runIds"])
    query = body.get("filter") or without_nones(fingerprint=body.get("fingerprint"))
    return sum(group["count"] for group in client.pages("/v1/dead-letters:groups", query=query))
