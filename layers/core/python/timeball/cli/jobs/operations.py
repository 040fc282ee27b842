"""Follows an operation of the API to its end, and judges it."""

from collections.abc import Mapping
from typing import Any

from timeball.cli.connection import path_of
from timeball.cli.following import Gauge, follow
from timeball.cli.output import Column, show_list, show_one, title
from timeball.cli.status import Status
from timeball.cli.surroundings import Surroundings
from timeball.client import Timeball

OPERATION_LINES = (
    Column("operation", "operationId"),
    Column("action", "action"),
    Column("status", "status"),
    Column("matched", "progress.matched"),
    Column("done", "progress.done"),
    Column("failed", "progress.failed"),
)
_FAILURES = (Column("JOB", "jobId"), Column("PROBLEM", "problem.detail"))


def follow_operation(
    surroundings: Surroundings, client: Timeball, begun: Mapping[str, Any], fields: str | None, total: int | None = None
) -> Status:
    """Wait for the end of an operation, print it, and return the exit status that it means.

    Ctrl-C ends the waiting and not the operation.
    """
    path = path_of("operations", begun["operationId"])
    try:
        ended = follow(
            surroundings,
            lambda: client.request("GET", path),
            lambda read: read["status"] != "running",
            lambda read: _progress(read, total),
            f"{begun['action']} {begun['operationId']}",
        )
    except KeyboardInterrupt:
        surroundings.say(f"It goes on: `timeball bulk show {begun['operationId']}`, or `bulk cancel` to stop it.")
        raise
    show_one(surroundings, OPERATION_LINES, ended, fields)
    if fields is None and ended["failures"]:
        title(surroundings, "Not possible")
        show_list(surroundings, _FAILURES, ended["failures"])
    return Status.OK if ended["status"] == "succeeded" else Status.BAD


def _progress(operation: Mapping[str, Any], total: int | None) -> Gauge:
    at = operation["progress"]
    done = at["done"] + at["failed"]
    return Gauge(done, max(total or 0, at["matched"]) or None)
