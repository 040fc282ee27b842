"""Runs, cycles, and what failed for good: `timeball.runs`, `timeball.cycles`, `timeball.failures`."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from timeball.client.aio.handles import AsyncOperationHandle, AsyncRunHandle, follow_run, wait_for_run
from timeball.client.aio.pages import AsyncPages
from timeball.client.aio.sender import AsyncSender
from timeball.client.calls import Call, path_of, span
from timeball.client.models import (
    CycleAnswer,
    DeadLetterAnswer,
    DeadLetterGroupAnswer,
    DealtAnswer,
    HeartbeatAnswer,
    OperationAnswer,
    RunAnswer,
    RunDetailAnswer,
)
from timeball.client.values.encoding import UNSET, Given, instant_text

OneOrMore = str | Sequence[str]


@dataclass(frozen=True)
class AsyncRuns:
    """The runs of all jobs."""

    sender: AsyncSender

    def list(
        self,
        *,
        status: OneOrMore | None = None,
        reason: str | None = None,
        job_id: str | None = None,
        tag: OneOrMore | None = None,
        task_id: str | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
        sort: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[RunAnswer]:
        """List runs of all jobs, the newest end first; `limit` is the size of a page."""
        query = {
            "status": status,
            "reason": reason,
            "jobId": job_id,
            "tag": tag,
            "taskId": task_id,
            **span(from_, to),
            "sort": sort,
            "limit": limit,
        }
        return AsyncPages(self.sender, Call("GET", path_of("runs"), query=query), RunAnswer)

    async def get(self, run_id: str) -> RunDetailAnswer:
        """Read a run with every attempt."""
        return RunDetailAnswer(await self.sender.json("GET", path_of("runs", run_id)))

    async def wait(self, run_id: str, *, timeout: float | None = None) -> RunDetailAnswer:
        """Return a run when it has succeeded; raise RunFailed if it ends otherwise, TimeoutError after `timeout`."""
        return await wait_for_run(self.sender, run_id, timeout)

    async def follow(self, run_id: str, *, timeout: float | None = None) -> AsyncIterator[RunDetailAnswer]:
        """Yield a run now and after each change until it has ended."""
        async for run in follow_run(self.sender, run_id, timeout):
            yield run

    async def retry(self, run_id: str, *, payload: Given = UNSET) -> AsyncRunHandle:
        """Try a run that has failed, or waits for its retry, again now."""
        answer = await self.sender.json("POST", path_of("runs", run_id, "retry"), {"payload": payload})
        return AsyncRunHandle(self.sender, RunAnswer(answer))

    async def cancel(self, run_id: str) -> RunAnswer:
        """Cancel a run; a run that is under way is asked to stop."""
        return await self._report(run_id, "cancel", None)

    async def succeed(self, run_id: str, *, reason: str | None = None) -> RunAnswer:
        """Mark a run that has failed for good as succeeded."""
        return await self._report(run_id, "succeed", {"reason": reason} if reason else {})

    async def complete(self, run_id: str, attempt: int, *, result: Given = UNSET) -> RunAnswer:
        """Report as the target of a run that the attempt has succeeded."""
        return await self._report(run_id, "complete", {"attempt": attempt, "result": result})

    async def fail(
        self, run_id: str, attempt: int, *, error: str | None = None, retriable: bool | None = None
    ) -> RunAnswer:
        """Report as the target of a run that the attempt has failed."""
        return await self._report(run_id, "fail", {"attempt": attempt, "error": error, "retriable": retriable})

    async def heartbeat(self, run_id: str, attempt: int) -> HeartbeatAnswer:
        """Report as the target of a run that it is still at work; the answer says whether it should stop."""
        path = path_of("runs", run_id, "heartbeat")
        return HeartbeatAnswer(await self.sender.json("POST", path, {"attempt": attempt}))

    async def fan_out(self, run_id: str, attempt: int, items: Sequence[object]) -> RunAnswer:
        """Name items as the target of a run: the jobs that depend on it have a run for each."""
        return await self._report(run_id, "fan-out", {"attempt": attempt, "items": items})

    async def _report(self, run_id: str, verb: str, body: Mapping[str, Any] | None) -> RunAnswer:
        return RunAnswer(await self.sender.json("POST", path_of("runs", run_id, verb), body))


@dataclass(frozen=True)
class AsyncCycles:
    """The cycles of graphs of jobs."""

    sender: AsyncSender

    async def get(self, job_id: str, cycle_id: str | datetime) -> CycleAnswer:
        """Read all runs of a cycle, by its fire time or by the `cycle_id` of one of its runs."""
        return CycleAnswer(await self.sender.json("GET", path_of("cycles", job_id, _cycle(cycle_id))))

    async def rerun(
        self,
        job_id: str,
        cycle_id: str | datetime,
        mode: Literal["failed", "failedAndDownstream", "all"] = "failed",
    ) -> AsyncOperationHandle:
        """Run a cycle again, or its failed runs."""
        path = path_of("cycles", job_id, _cycle(cycle_id), verb="rerun")
        return AsyncOperationHandle(self.sender, OperationAnswer(await self.sender.json("POST", path, {"mode": mode})))


def _cycle(cycle_id: str | datetime) -> str:
    return instant_text(cycle_id) if isinstance(cycle_id, datetime) else cycle_id


@dataclass(frozen=True)
class AsyncFailures:
    """The dead letters: runs that failed for good."""

    sender: AsyncSender

    def list(
        self,
        *,
        job_id: str | None = None,
        task_id: str | None = None,
        reason: str | None = None,
        error: str | None = None,
        fingerprint: str | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
        limit: int | None = None,
    ) -> AsyncPages[DeadLetterAnswer]:
        """List dead letters, the newest death first."""
        query = _filter(job_id, task_id, reason, error, fingerprint) | span(from_, to) | {"limit": limit}
        return AsyncPages(self.sender, Call("GET", path_of("dead-letters"), query=query), DeadLetterAnswer)

    def groups(
        self,
        *,
        job_id: str | None = None,
        task_id: str | None = None,
        reason: str | None = None,
        error: str | None = None,
        fingerprint: str | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
        limit: int | None = None,
    ) -> AsyncPages[DeadLetterGroupAnswer]:
        """Count dead letters by job and error."""
        query = _filter(job_id, task_id, reason, error, fingerprint) | span(from_, to) | {"limit": limit}
        path = path_of("dead-letters", verb="groups")
        return AsyncPages(self.sender, Call("GET", path, query=query), DeadLetterGroupAnswer)

    async def replay(
        self,
        *,
        run_ids: Sequence[str] | None = None,
        fingerprint: str | None = None,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - the API's name
        per_second: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> DealtAnswer:
        """Try dead letters again: by their runs, of a group, or by a filter, whose `next_cursor` continues it."""
        body = {"runIds": run_ids, "fingerprint": fingerprint, "filter": filter, "perSecond": per_second}
        return await self._deal("replay", body | {"limit": limit, "cursor": cursor})

    async def discard(
        self,
        *,
        run_ids: Sequence[str] | None = None,
        fingerprint: str | None = None,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - the API's name
        limit: int | None = None,
        cursor: str | None = None,
    ) -> DealtAnswer:
        """Take dead letters off the list: by their runs, of a group, or by a filter."""
        body = {"runIds": run_ids, "fingerprint": fingerprint, "filter": filter}
        return await self._deal("discard", body | {"limit": limit, "cursor": cursor})

    async def _deal(self, verb: str, body: Mapping[str, object]) -> DealtAnswer:
        given = {name: value for name, value in body.items() if value is not None}
        return DealtAnswer(await self.sender.json("POST", path_of("dead-letters", verb=verb), given))


def _filter(
    job_id: str | None, task_id: str | None, reason: str | None, error: str | None, fingerprint: str | None
) -> dict[str, object]:
    return {"jobId": job_id, "taskId": task_id, "reason": reason, "error": error, "fingerprint": fingerprint}
