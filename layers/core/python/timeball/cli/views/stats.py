"""`timeball stats`: counts of jobs and runs, queues, lateness and failure rates."""

from collections.abc import Iterator, Mapping
from typing import Any

import typer

from timeball.cli.connection import connect
from timeball.cli.output import Column, show_list, show_one, title
from timeball.cli.surroundings import surroundings_of
from timeball.cli.tree import Commands, Json

app = Commands("Show counts of jobs and runs, lateness and failure rates.")

_COUNTS = (Column("WHAT", "what"), Column("COUNT", "count"), Column("EXACT", "exact"), Column("OLDEST", "oldestAt"))
_WINDOWS = (
    Column("WINDOW", "window"),
    *(Column(name.upper(), f"total.{name}") for name in ("started", "succeeded", "retried", "dead", "skipped")),
    Column("FAILED", "total.failureRate"),
    Column("WITHIN 5 S", "total.onTime.within5Seconds"),
    Column("P50 (S)", "total.lateness.p50Seconds"),
    Column("P99 (S)", "total.lateness.p99Seconds"),
)


@app.add()
def stats(context: typer.Context, *, json: Json = None) -> None:
    """Show counts of jobs and runs, the queues, lateness and failure rates."""
    surroundings = surroundings_of(context)
    client = connect(surroundings)
    found = {"stats": client.request("GET", "/v1/stats"), "slo": client.request("GET", "/v1/slo")}
    if json is not None:
        show_one(surroundings, (), found, json)
        return
    show_list(surroundings, _COUNTS, list(_counts(found["stats"])))
    title(surroundings, "Runs")
    windows = [{"window": name, **window} for name, window in found["slo"]["windows"].items()]
    show_list(surroundings, _WINDOWS, windows)


def _counts(found: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for status, count in found["jobs"].items():
        yield {"what": f"jobs {status}", **count}
    yield {"what": "runs running", **found["running"]}
    yield {"what": "runs waiting", **found["waiting"]}
    yield {"what": "runs failed for good", **found["deadLetters"]}
    for priority, queue in (found["queues"] or {}).items():
        yield {"what": f"messages {priority}", "count": sum(queue.values()), "exact": False}
