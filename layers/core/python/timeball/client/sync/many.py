# Generated from aio/many.py by `python -m docs.client`: change that instead.
"""Work on many runs or jobs: `timeball.backfills`, `timeball.operations`, `timeball.events`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from timeball.client.calls import Call, matching, path_of
from timeball.client.models import (
    BackfillAnswer,
    DryRunAnswer,
    EventAnswer,
    EventsAnswer,
    OperationAnswer,
    OperationSummaryAnswer,
)
from timeball.client.sync.handles import BackfillHandle, OperationHandle
from timeball.client.sync.pages import Pages
from timeball.client.sync.sender import Sender
from timeball.client.values.job import Overlap


@dataclass(frozen=True)
class Backfills:
    """Past ranges of fires that run again."""

    sender: Sender

    def create(
        self,
        job_id: str,
        from_: datetime,
        to: datetime,
        *,
        pace_seconds: int | None = None,
        overlap: Overlap | None = None,
        graph: bool = False,
    ) -> BackfillHandle:
        """Run the fires of a past range again; `graph` also runs the jobs that depend on the job, cycle by cycle."""
        answer = self._ask(job_id, _range(from_, to, pace_seconds, overlap, graph=graph))
        return BackfillHandle(self.sender, BackfillAnswer(answer))

    def preview(self, job_id: str, from_: datetime, to: datetime, *, graph: bool = False) -> DryRunAnswer:
        """Show the fires that a backfill would run; nothing is stored."""
        body = {**_range(from_, to, None, None, graph=graph), "dryRun": True}
        return DryRunAnswer(self._ask(job_id, body))

    def _ask(self, job_id: str, body: Mapping[str, object]) -> Any:  # noqa: ANN401 - JSON
        return self.sender.json("POST", path_of("jobs", job_id, "backfills"), body)

    def list(self, job_id: str, *, limit: int | None = None) -> Pages[BackfillAnswer]:
        """List the backfills of a job, the newest first."""
        query = {"limit": limit}
        return Pages(self.sender, Call("GET", path_of("jobs", job_id, "backfills"), query=query), BackfillAnswer)

    def get(self, job_id: str, backfill_id: str) -> BackfillAnswer:
        """Read the progress of a backfill."""
        return BackfillAnswer(self.sender.json("GET", path_of("jobs", job_id, "backfills", backfill_id)))

    def cancel(self, job_id: str, backfill_id: str, *, if_version: int | None = None) -> BackfillAnswer:
        """Cancel a backfill; the runs that it has begun go on."""
        path = path_of("jobs", job_id, "backfills", backfill_id)
        return BackfillAnswer(self.sender.json("DELETE", path, headers=matching(if_version)))


def _range(
    from_: datetime, to: datetime, pace_seconds: int | None, overlap: Overlap | None, *, graph: bool
) -> dict[str, object]:
    body = {"from": from_, "to": to, "paceSeconds": pace_seconds, "overlapPolicy": overlap, "graph": graph or None}
    return {name: value for name, value in body.items() if value is not None}


@dataclass(frozen=True)
class Operations:
    """Bulk operations: one action on all jobs that match."""

    sender: Sender

    def create(
        self,
        action: Literal["pause", "resume", "cancel", "trigger", "retry"],
        *,
        tags: Mapping[str, str] | None = None,
        task_id: str | None = None,
        status: str | None = None,
        all_jobs: bool = False,
        children: Literal["detach", "cancel"] | None = None,
        per_second: int | None = None,
    ) -> OperationHandle:
        """Begin an action on all jobs that match; without any condition `all_jobs` must be true."""
        match: dict[str, object] = {"tags": tags, "taskId": task_id, "status": status}
        match = {name: value for name, value in match.items() if value is not None}
        if bool(match) == all_jobs:
            raise ValueError("Name the jobs by tags, task_id or status, or give all_jobs=True.")
        body = {"action": action, "match": match or {"all": True}, "children": children, "perSecond": per_second}
        given = {name: value for name, value in body.items() if value is not None}
        answer = self.sender.json("POST", path_of("operations"), given)
        return OperationHandle(self.sender, OperationAnswer(answer))

    def list(self, *, limit: int | None = None) -> Pages[OperationSummaryAnswer]:
        """List operations, the newest first."""
        return Pages(self.sender, Call("GET", path_of("operations"), query={"limit": limit}), OperationSummaryAnswer)

    def get(self, operation_id: str) -> OperationAnswer:
        """Read the progress and the failures of an operation."""
        return OperationAnswer(self.sender.json("GET", path_of("operations", operation_id)))

    def handle(self, operation: OperationAnswer) -> OperationHandle:
        """Return the handle of an operation that was read, to wait for it or to follow it."""
        return OperationHandle(self.sender, operation)

    def cancel(self, operation_id: str, *, if_version: int | None = None) -> OperationAnswer:
        """Cancel an operation; finished jobs stay as they are."""
        path = path_of("operations", operation_id)
        return OperationAnswer(self.sender.json("DELETE", path, headers=matching(if_version)))


@dataclass(frozen=True)
class Events:
    """Events, on which jobs run."""

    sender: Sender

    def publish(
        self,
        source: str,
        type: str,  # noqa: A002 - the name in CloudEvents
        data: object = None,
        *,
        id: str | None = None,  # noqa: A002 - the name in CloudEvents
        subject: str | None = None,
        time: datetime | None = None,
    ) -> EventAnswer:
        """Send an event to the jobs whose patterns match; the same `source` and `id` make no second run."""
        event = {"source": source, "type": type, "id": id, "subject": subject, "time": time, "data": data}
        given = {name: value for name, value in event.items() if value is not None}
        return EventAnswer(self.sender.json("POST", path_of("events"), given))

    def publish_many(self, events: Sequence[Mapping[str, object]]) -> EventsAnswer:
        """Send up to a hundred events, as CloudEvents or plain JSON, with a result for each."""
        return EventsAnswer(self.sender.json("POST", path_of("events"), list(events)))
