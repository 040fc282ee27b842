"""Work on many runs or jobs: `timeball.backfills`, `timeball.operations`, `timeball.events`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from timeball.client.aio.handles import AsyncBackfillHandle, AsyncOperationHandle
from timeball.client.aio.pages import AsyncPages
from timeball.client.aio.sender import AsyncSender
from timeball.client.calls import Call, matching, path_of
from timeball.client.models import (
    BackfillAnswer,
    DryRunAnswer,
    EventAnswer,
    EventsAnswer,
    OperationAnswer,
    OperationSummaryAnswer,
)
from timeball.client.values.job import Overlap


@dataclass(frozen=True)
class AsyncBackfills:
    """Past ranges of fires that run again."""

    sender: AsyncSender

    async def create(
        self,
        job_id: str,
        from_: datetime,
        to: datetime,
        *,
        pace_seconds: int | None = None,
        overlap: Overlap | None = None,
        graph: bool = False,
    ) -> AsyncBackfillHandle:
        """Run the fires of a past range again; `graph` also runs the jobs that depend on the job, cycle by cycle."""
        answer = await self._ask(job_id, _range(from_, to, pace_seconds, overlap, graph=graph))
        return AsyncBackfillHandle(self.sender, BackfillAnswer(answer))

    async def preview(self, job_id: str, from_: datetime, to: datetime, *, graph: bool = False) -> DryRunAnswer:
        """Show the fires that a backfill would run; nothing is stored."""
        body = {**_range(from_, to, None, None, graph=graph), "dryRun": True}
        return DryRunAnswer(await self._ask(job_id, body))

    async def _ask(self, job_id: str, body: Mapping[str, object]) -> Any:  # noqa: ANN401 - JSON
        return await self.sender.json("POST", path_of("jobs", job_id, "backfills"), body)

    def list(self, job_id: str, *, limit: int | None = None) -> AsyncPages[BackfillAnswer]:
        """List the backfills of a job, the newest first."""
        query = {"limit": limit}
        return AsyncPages(self.sender, Call("GET", path_of("jobs", job_id, "backfills"), query=query), BackfillAnswer)

    async def get(self, job_id: str, backfill_id: str) -> BackfillAnswer:
        """Read the progress of a backfill."""
        return BackfillAnswer(await self.sender.json("GET", path_of("jobs", job_id, "backfills", backfill_id)))

    async def cancel(self, job_id: str, backfill_id: str, *, if_version: int | None = None) -> BackfillAnswer:
        """Cancel a backfill; the runs that it has begun go on."""
        path = path_of("jobs", job_id, "backfills", backfill_id)
        return BackfillAnswer(await self.sender.json("DELETE", path, headers=matching(if_version)))


def _range(
    from_: datetime, to: datetime, pace_seconds: int | None, overlap: Overlap | None, *, graph: bool
) -> dict[str, object]:
    body = {"from": from_, "to": to, "paceSeconds": pace_seconds, "overlapPolicy": overlap, "graph": graph or None}
    return {name: value for name, value in body.items() if value is not None}


@dataclass(frozen=True)
class AsyncOperations:
    """Bulk operations: one action on all jobs that match."""

    sender: AsyncSender

    async def create(
        self,
        action: Literal["pause", "resume", "cancel", "trigger", "retry"],
        *,
        tags: Mapping[str, str] | None = None,
        task_id: str | None = None,
        status: str | None = None,
        all_jobs: bool = False,
        children: Literal["detach", "cancel"] | None = None,
        per_second: int | None = None,
    ) -> AsyncOperationHandle:
        """Begin an action on all jobs that match; without any condition `all_jobs` must be true."""
        match: dict[str, object] = {"tags": tags, "taskId": task_id, "status": status}
        match = {name: value for name, value in match.items() if value is not None}
        if bool(match) == all_jobs:
            raise ValueError("Name the jobs by tags, task_id or status, or give all_jobs=True.")
        body = {"action": action, "match": match or {"all": True}, "children": children, "perSecond": per_second}
        given = {name: value for name, value in body.items() if value is not None}
        answer = await self.sender.json("POST", path_of("operations"), given)
        return AsyncOperationHandle(self.sender, OperationAnswer(answer))

    def list(self, *, limit: int | None = None) -> AsyncPages[OperationSummaryAnswer]:
        """List operations, the newest first."""
        return AsyncPages(
            self.sender, Call("GET", path_of("operations"), query={"limit": limit}), OperationSummaryAnswer
        )

    async def get(self, operation_id: str) -> OperationAnswer:
        """Read the progress and the failures of an operation."""
        return OperationAnswer(await self.sender.json("GET", path_of("operations", operation_id)))

    def handle(self, operation: OperationAnswer) -> AsyncOperationHandle:
        """Return the handle of an operation that was read, to wait for it or to follow it."""
        return AsyncOperationHandle(self.sender, operation)

    async def cancel(self, operation_id: str, *, if_version: int | None = None) -> OperationAnswer:
        """Cancel an operation; finished jobs stay as they are."""
        path = path_of("operations", operation_id)
        return OperationAnswer(await self.sender.json("DELETE", path, headers=matching(if_version)))


@dataclass(frozen=True)
class AsyncEvents:
    """Events, on which jobs run."""

    sender: AsyncSender

    async def publish(
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
        return EventAnswer(await self.sender.json("POST", path_of("events"), given))

    async def publish_many(self, events: Sequence[Mapping[str, object]]) -> EventsAnswer:
        """Send up to a hundred events, as CloudEvents or plain JSON, with a result for each."""
        return EventsAnswer(await self.sender.json("POST", path_of("events"), list(events)))
