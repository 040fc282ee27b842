"""`timeball test-call`: one call of a target, shown whole."""

from typing import Annotated

import typer

from timeball.cli.connection import connect, path_of
from timeball.cli.output import Column, show_one
from timeball.cli.reading import json_of, without_nones
from timeball.cli.status import CommandError, Status
from timeball.cli.surroundings import surroundings_of
from timeball.cli.tree import Commands, Json

app = Commands("Call a URL or a job's target once, and show the whole call.")

_LINES = (
    Column("verdict", "verdict"),
    Column("error", "error"),
    Column("retried", "mayRetry"),
    Column("request", "request"),
    Column("status", "response.status"),
    Column("headers", "response.headers"),
    Column("body", "response.body"),
    Column("total (ms)", "timings.totalMs"),
    Column("name, connect, tls, wait, body (ms)", lambda trial: list(trial["timings"].values())[:-1]),
    Column("signature", "signature"),
)


@app.add()
def call_target(
    context: typer.Context,
    target: Annotated[str, typer.Argument(metavar="URL|JOB", help="A URL, or the id of a job.")],
    *,
    payload: Annotated[str | None, typer.Option(metavar="JSON|@FILE", help="By default the job's payload.")] = None,
    timeout: Annotated[int | None, typer.Option(min=1, max=20, metavar="SECONDS", help="By default 10.")] = None,
    json: Json = None,
) -> Status:
    """Call a URL or a job's target once, with all effects of a real call; nothing is stored.

    The exit status is 1 if a run with this outcome would have failed.
    """
    surroundings = surroundings_of(context)
    client = connect(surroundings)
    body = without_nones(timeoutSeconds=timeout)
    if "://" in target:
        body["handler"] = target
    else:
        job = client.request("GET", path_of("jobs", target))
        if job["taskId"] is None and (job["target"] or {}).get("headers"):
            raise CommandError(
                "The target of this job has headers, whose values no answer shows: name a task, or give its URL.",
                Status.CONFLICT,
            )
        target_of_job = {name: value for name, value in (job["target"] or {}).items() if name != "headers"}
        body |= {"taskId": job["taskId"]} if job["taskId"] else {"target": without_nones(**target_of_job)}
        if "payload" in job:
            body["payload"] = job["payload"]
    if payload is not None:
        body["payload"] = json_of(surroundings, payload, "--payload")
    trial = client.request("POST", "/v1/targets:test", body)
    show_one(surroundings, _LINES, trial, json)
    return Status.BAD if trial["verdict"] == "failed" else Status.OK
