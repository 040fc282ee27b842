"""`timeball bulk`: one action on all jobs that match, with its count before and its progress after."""

import itertools
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

import typer

from timeball.cli.connection import connect, path_of
from timeball.cli.jobs.operations import OPERATION_LINES, follow_operation
from timeball.cli.output import Column, show_list, show_one
from timeball.cli.reading import tags_of, without_nones
from timeball.cli.status import CommandError, Status
from timeball.cli.surroundings import surroundings_of
from timeball.cli.tree import Commands, Json, Limit, Tags, Yes
from timeball.client import Timeball

app = Commands("Apply one action to all jobs that match, and follow it.")

_COUNTED: Final = 2000
"""The count of matching jobs stops here: each page of 200 is a request."""
_ENDED: Final[Mapping[str, frozenset[str]]] = {
    "retry": frozenset({"cancelled"}),
    **dict.fromkeys(
        ("pause", "resume", "cancel", "trigger"), frozenset({"completed", "failed", "skipped", "cancelled"})
    ),
}
"""For each action, the statuses of jobs that it leaves out unless they are asked for."""

Task = Annotated[str | None, typer.Option("--task", metavar="TASK", help="Only jobs that name this task.")]
OneStatus = Annotated[str | None, typer.Option(help="Only jobs with this status, such as failed.")]
All = Annotated[bool, typer.Option("--all", help="All jobs.")]
Pace = Annotated[int | None, typer.Option(min=1, max=1000, metavar="N", help="At most so many jobs each second.")]


def _act(context: typer.Context, action: str, match: Mapping[str, Any], json: str | None, **also: object) -> Status:
    surroundings = surroundings_of(context)
    is_sure = bool(also.pop("yes"))
    if not match:
        raise CommandError("Say which jobs: --tag key:value, --task, --status, or --all.")
    client = connect(surroundings)
    count = None
    if not is_sure:
        count = _count(client, action, match)
        amount = f"more than {_COUNTED}" if count is None else str(count)
        surroundings.confirm(f"{action.capitalize()} {amount} jobs?", yes=False)
    begun = client.request("POST", "/v1/operations", {"action": action, "match": match, **without_nones(**also)})
    return follow_operation(surroundings, client, begun, json, count)


def _match(tag: list[str] | None, task: str | None, status: str | None, *, all_jobs: bool) -> dict[str, Any]:
    """Return the conditions for a job, as the API takes them."""
    if all_jobs and (tag or task or status):
        raise CommandError("--all means all jobs: leave it out beside --tag, --task and --status.")
    return without_nones(tags=tags_of(tag) or None, taskId=task, status=status, all=True if all_jobs else None)


def _count(client: Timeball, action: str, match: Mapping[str, Any]) -> int | None:
    """Return the number of jobs that an action would have, None for more than are counted."""
    tags = [f"{key}:{value}" for key, value in match.get("tags", {}).items()]
    query = {"tag": tags, "taskId": match.get("taskId"), "status": match.get("status")}
    jobs = client.pages("/v1/jobs", query={**query, "fields": "summary", "limit": 200})
    left_out = frozenset[str]() if "status" in match else _ENDED[action]
    found = (1 for job in jobs if job["status"] not in left_out)
    number = sum(itertools.islice(found, _COUNTED + 1))
    return None if number > _COUNTED else number


def _declare(action: str, about: str) -> Callable[..., Status]:
    """Declare the command of an action that needs nothing but the jobs."""

    def act(
        context: typer.Context,
        *,
        tag: Tags = None,
        task: Task = None,
        status: OneStatus = None,
        all_jobs: All = False,
        per_second: Pace = None,
        yes: Yes = False,
        json: Json = None,
    ) -> Status:
        match = _match(tag, task, status, all_jobs=all_jobs)
        return _act(context, action, match, json, perSecond=per_second, yes=yes)

    act.__doc__ = about
    declared: Callable[..., Status] = app.add(action)(act)
    return declared


pause_jobs = _declare("pause", "Pause all jobs that match.")
resume_jobs = _declare("resume", "Resume all jobs that match.")
trigger_jobs = _declare("trigger", "Run all jobs that match now.")
retry_jobs = _declare("retry", "Try the newest run of all jobs that match again, where it failed for good.")


@app.add("cancel")
def cancel_jobs(
    context: typer.Context,
    operation: Annotated[
        str | None, typer.Argument(metavar="[OPERATION]", help="An operation to stop, in place of jobs to cancel.")
    ] = None,
    *,
    tag: Tags = None,
    task: Task = None,
    status: OneStatus = None,
    all_jobs: All = False,
    children: Annotated[
        str | None, typer.Option(metavar="detach|cancel", help="What becomes of open jobs that depend on these.")
    ] = None,
    per_second: Pace = None,
    yes: Yes = False,
    json: Json = None,
) -> Status:
    """Cancel all jobs that match; or stop an OPERATION, whose finished jobs stay as they are."""
    match = _match(tag, task, status, all_jobs=all_jobs)
    if operation is None:
        return _act(context, "cancel", match, json, children=children, perSecond=per_second, yes=yes)
    if match:
        raise CommandError("Give an operation to stop, or the jobs to cancel, not both.")
    surroundings = surroundings_of(context)
    stopped = connect(surroundings).request("DELETE", path_of("operations", operation))
    show_one(surroundings, OPERATION_LINES, stopped, json)
    return Status.OK


@app.add("show")
def show_operation(
    context: typer.Context,
    operation: Annotated[str, typer.Argument(metavar="OPERATION", help="The id of an operation.")],
    *,
    json: Json = None,
) -> None:
    """Show an operation as it stands."""
    surroundings = surroundings_of(context)
    found = connect(surroundings).request("GET", path_of("operations", operation))
    show_one(surroundings, OPERATION_LINES, found, json)


@app.add("list")
def list_operations(context: typer.Context, *, limit: Limit = None, json: Json = None) -> None:
    """List your operations, the newest first."""
    surroundings = surroundings_of(context)
    columns = (
        Column("OPERATION", "operationId"),
        Column("ACTION", "action"),
        Column("STATUS", "status"),
        Column("DONE", "progress.done"),
        Column("FAILED", "progress.failed"),
        Column("MATCHED", "progress.matched"),
        Column("CREATED", "createdAt"),
    )
    show_list(surroundings, columns, connect(surroundings).pages("/v1/operations"), json, limit)
