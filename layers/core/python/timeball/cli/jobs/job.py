"""`timeball job`: list, make, change and steer jobs."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from timeball.cli.connection import connect, path_of
from timeball.cli.jobs.outcomes import RUN_COLUMNS, wait_for
from timeball.cli.output import Column, Item, show_list, show_one, show_row
from timeball.cli.reading import json_of, object_in, tags_of
from timeball.cli.status import Status
from timeball.cli.surroundings import Surroundings, surroundings_of
from timeball.cli.tree import Commands, File, JobId, Json, Limit, Tags, Yes

app = Commands("List, make, change and steer jobs.")


def _target_text(job: Item) -> object:
    target = job.get("target")
    if not isinstance(target, Mapping):
        return job.get("taskId")
    names = ("url", "functionArn", "queueArn", "topicArn", "stateMachineArn", "taskDefinitionArn", "busArn")
    return next((target[name] for name in names if name in target), target.get("type"))


_COLUMNS = (
    Column("JOB", "jobId"),
    Column("STATUS", "status"),
    Column("SCHEDULE", "scheduleText"),
    Column("NEXT RUN", "nextRunAt"),
    Column("RECENT", "recent"),
    Column("TAGS", "tags"),
)
_LINES = (
    Column("job", "jobId"),
    Column("name", "name"),
    Column("status", "status"),
    Column("schedule", "scheduleText"),
    Column("next runs", "nextRuns"),
    Column("recent", "recent"),
    Column("running", "running"),
    Column("last run", "lastRun.runId"),
    Column("last status", "lastRun.status"),
    Column("target", _target_text),
    Column("depends on", "dependsOn"),
    Column("waiting for", "waitingFor"),
    Column("blocked by", "blockedBy.runId"),
    Column("priority", "effectivePriority"),
    Column("retries", "maxRetries"),
    Column("owner", "owner"),
    Column("tags", "tags"),
    Column("paused", "pausedAt"),
    Column("version", "version"),
    Column("page", "consoleUrl"),
)


@app.add("list")
def list_jobs(
    context: typer.Context,
    *,
    status: Annotated[str | None, typer.Option(help="Only these, such as failed,paused.")] = None,
    tag: Tags = None,
    task: Annotated[str | None, typer.Option("--task", metavar="TASK", help="Only jobs that name this task.")] = None,
    owner: Annotated[str | None, typer.Option(help="Only jobs of this owner.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only these kinds: once, cron, interval, event, dependent.")] = None,
    search: Annotated[str | None, typer.Option("--search", "-q", help="Id or name begins with this text.")] = None,
    sort: Annotated[
        str | None, typer.Option(help="createdAt, name, nextRunAt or lastFinishedAt; -name: the last first.")
    ] = None,
    limit: Limit = None,
    json: Json = None,
) -> None:
    """List jobs, the newest first."""
    surroundings = surroundings_of(context)
    tags_of(tag)
    query = {"status": status, "tag": tag, "taskId": task, "owner": owner, "kind": kind, "q": search, "sort": sort}
    summary = {"fields": "summary"} if json is None else {}
    jobs = connect(surroundings).pages("/v1/jobs", query={**query, **summary, "limit": min(limit or 200, 200)})
    show_list(surroundings, _COLUMNS, jobs, json, limit)


@app.add("show")
def show_job(context: typer.Context, job: JobId, *, json: Json = None) -> None:
    """Show a job: its schedule, its next and newest runs, its target."""
    surroundings = surroundings_of(context)
    show_one(surroundings, _LINES, connect(surroundings).request("GET", path_of("jobs", job)), json)


@app.add("put")
def put_job(
    context: typer.Context,
    job: JobId,
    file: File,
    *,
    if_absent: Annotated[bool, typer.Option("--if-absent", help="Refuse to replace a job.")] = False,
    json: Json = None,
) -> None:
    """Create a job under an id of yours, or replace it. The same job again changes nothing."""
    surroundings = surroundings_of(context)
    headers = {"If-None-Match": "*"} if if_absent else {}
    body = object_in(surroundings, file, "FILE")
    made = connect(surroundings).request("PUT", path_of("jobs", job), body, headers=headers)
    show_row(surroundings, _COLUMNS, made, json)


@app.add("edit")
def edit_job(
    context: typer.Context,
    job: JobId,
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE|-]", help="A JSON merge patch; without it an editor opens.")
    ] = None,
    *,
    json: Json = None,
) -> None:
    """Change a job by a JSON merge patch, or in the editor of $VISUAL or $EDITOR."""
    surroundings = surroundings_of(context)
    client, path = connect(surroundings), path_of("jobs", job)
    if file is not None:
        changed = client.request("PATCH", path, object_in(surroundings, file, "FILE"))
    else:
        from timeball.cli.jobs.editing import edited  # noqa: PLC0415 - for a terminal only

        found = client.request("GET", path)
        patch = edited(surroundings, found)
        if not patch:
            surroundings.say(f"{job} is as it was.")
            return
        changed = client.request("PATCH", path, patch, headers={"If-Match": f'"{found["version"]}"'})
    show_row(surroundings, _COLUMNS, changed, json)


@app.add("pause")
def pause_job(context: typer.Context, job: JobId, *, json: Json = None) -> None:
    """Start no fire of the schedule until the job is resumed."""
    _steer(surroundings_of(context), job, "pause", json)


@app.add("resume")
def resume_job(context: typer.Context, job: JobId, *, json: Json = None) -> None:
    """Resume a paused job; its catch-up policy decides about the fires that were due."""
    _steer(surroundings_of(context), job, "resume", json)


@app.add("skip")
def skip_next_fire(context: typer.Context, job: JobId, *, json: Json = None) -> None:
    """Skip the next fire that has not started."""
    _steer(surroundings_of(context), job, "skip-next", json)


def _steer(surroundings: Surroundings, job: str, verb: str, fields: str | None) -> None:
    show_row(surroundings, _COLUMNS, connect(surroundings).request("POST", path_of("jobs", job, verb)), fields)


@app.add("trigger")
def trigger_job(
    context: typer.Context,
    job: JobId,
    *,
    payload: Annotated[str | None, typer.Option(metavar="JSON|@FILE", help="In place of the job's payload.")] = None,
    downstream: Annotated[bool, typer.Option("--downstream", help="Run all jobs that depend on it, too.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the end of the run; 1 if it is bad.")] = False,
    json: Json = None,
) -> Status:
    """Run a job now, beside its schedule."""
    surroundings = surroundings_of(context)
    body: dict[str, Any] = {"downstream": True} if downstream else {}
    if payload is not None:
        body["payload"] = json_of(surroundings, payload, "--payload")
    client = connect(surroundings)
    made = client.request("POST", path_of("jobs", job, "trigger"), body)
    if wait:
        return wait_for(surroundings, client, made["runId"], json)
    show_row(surroundings, RUN_COLUMNS, made, json)
    return Status.OK


@app.add("delete")
def delete_job(
    context: typer.Context,
    job: JobId,
    *,
    children: Annotated[
        str | None, typer.Option(metavar="detach|cancel", help="What becomes of open jobs that depend on it.")
    ] = None,
    yes: Yes = False,
    json: Json = None,
) -> None:
    """Cancel a job: no run of it starts any more."""
    surroundings = surroundings_of(context)
    client = connect(surroundings)
    surroundings.confirm(f"Cancel the job {job}?", yes=yes)
    gone = client.request("DELETE", path_of("jobs", job), query={"children": children})
    show_row(surroundings, _COLUMNS, gone, json)


@app.add("graph")
def show_graph(context: typer.Context, job: JobId, *, json: Json = None) -> None:
    """List the jobs that a job depends on, and those that depend on it."""
    surroundings = surroundings_of(context)
    client, path = connect(surroundings), path_of("jobs", job, "graph")
    graph = client.request("GET", path)
    nodes = [{"relation": "job", **graph["job"]}]
    cursor: str | None = ""
    while cursor is not None:
        for relation in ("ancestor", "descendant"):
            nodes += [{"relation": relation, **node} for node in graph[f"{relation}s"]]
        cursor = graph["nextCursor"]
        if cursor is not None:
            graph = client.request("GET", path, query={"cursor": cursor})
    columns = (
        Column("JOB", "jobId"),
        Column("RELATION", "relation"),
        Column("STATUS", "status"),
        Column("DEPENDS ON", "dependsOn"),
        Column("RULE", "triggerRule"),
        Column("BLOCKED BY", "blockedBy.runId"),
    )
    show_list(surroundings, columns, nodes, json)


@app.add("history")
def show_history(context: typer.Context, job: JobId, *, limit: Limit = None, json: Json = None) -> None:
    """List the changes of a job, the newest first, with their authors."""
    surroundings = surroundings_of(context)
    columns = (
        Column("REVISION", "revision"),
        Column("AT", "at"),
        Column("ACTION", "action"),
        Column("KEY", "actor.keyId"),
        Column("CHANGED", _changed_fields),
    )
    changes = connect(surroundings).pages(path_of("jobs", job, "revisions"), query={"limit": min(limit or 200, 200)})
    show_list(surroundings, columns, changes, json, limit)


def _changed_fields(change: Item) -> list[str]:
    before, after = change.get("before") or {}, change.get("after") or {}
    return [name for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name)]


@app.add("restore")
def restore_job(
    context: typer.Context,
    job: JobId,
    revision: Annotated[int, typer.Argument(metavar="REVISION", help="The number that `job history` shows.")],
    *,
    json: Json = None,
) -> None:
    """Give a job the settings of one of its revisions."""
    surroundings = surroundings_of(context)
    path = path_of("jobs", job, "revisions", str(revision), verb="restore")
    show_row(surroundings, _COLUMNS, connect(surroundings).request("POST", path), json)


@app.add("cost")
def show_cost(context: typer.Context, job: JobId, *, json: Json = None) -> None:
    """Show what the runs of a job have cost in a day and in 30 days, by public prices."""
    surroundings = surroundings_of(context)
    cost = connect(surroundings).request("GET", path_of("jobs", job, "cost"))
    if json is not None:
        show_one(surroundings, (), cost, json)
        return
    rows = [
        {"window": window, "item": item, **amount}
        for window in ("day", "month")
        for item, amount in {**cost[window]["items"], "all": {"quantity": None, "usd": cost[window]["usd"]}}.items()
    ]
    columns = [Column(name.upper(), name) for name in ("window", "item", "quantity", "usd")]
    show_list(surroundings, columns, rows)
