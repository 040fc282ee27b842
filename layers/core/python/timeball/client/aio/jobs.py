"""Jobs: `timeball.jobs`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from timeball.client.aio.handles import AsyncRunHandle
from timeball.client.aio.pages import AsyncPages
from timeball.client.aio.sender import AsyncSender
from timeball.client.calls import Call, keyed, matching, path_of, span
from timeball.client.models import (
    BatchAnswer,
    ChangeAnswer,
    ExecutionAnswer,
    GraphAnswer,
    JobAnswer,
    JobCostAnswer,
    ListedJobAnswer,
    RunAnswer,
)
from timeball.client.values.encoding import UNSET, Given
from timeball.client.values.job import JobLike
from timeball.client.values.schedules import Schedule

OneOrMore = str | Sequence[str]
"""A parameter that may be given several times: any of them matches. Of tags, `key:value`, all must match."""


@dataclass(frozen=True)
class AsyncJobs:
    """The jobs of the tenant."""

    sender: AsyncSender

    async def put(
        self, job_id: str, job: JobLike, *, if_version: int | None = None, only_new: bool = False
    ) -> JobAnswer:
        """Create a job under an id of yours, or replace it; a job that is equal already does not change."""
        headers = {"If-None-Match": "*"} if only_new else matching(if_version)
        return JobAnswer(await self.sender.json("PUT", path_of("jobs", job_id), job, headers=headers))

    async def create(self, job: JobLike, *, idempotency_key: str | None = None) -> JobAnswer:
        """Create a job under an id that the API chooses; the same key and job again create no second one."""
        return JobAnswer(await self.sender.json("POST", path_of("jobs"), job, headers=keyed(idempotency_key)))

    async def batch(
        self, jobs: Sequence[JobLike] | Mapping[str, JobLike], *, idempotency_key: str | None = None
    ) -> BatchAnswer:
        """Create up to a hundred jobs with a result for each; a mapping gives their ids, and replaces those jobs."""
        items = jobs if not isinstance(jobs, Mapping) else [_Named(name, job).to_json() for name, job in jobs.items()]
        path, headers = path_of("jobs", verb="batch"), keyed(idempotency_key)
        return BatchAnswer(await self.sender.json("POST", path, {"jobs": items}, headers=headers))

    async def get(self, job_id: str) -> JobAnswer:
        """Read a job, with its latest run."""
        return JobAnswer(await self.sender.json("GET", path_of("jobs", job_id)))

    def list(
        self,
        *,
        status: OneOrMore | None = None,
        tag: OneOrMore | None = None,
        q: str | None = None,
        name: str | None = None,
        owner: str | None = None,
        task_id: str | None = None,
        priority: OneOrMore | None = None,
        kind: OneOrMore | None = None,
        next_run_before: datetime | None = None,
        created_from: datetime | None = None,
        created_to: datetime | None = None,
        sort: str | None = None,
        summary: bool = False,
        limit: int | None = None,
    ) -> AsyncPages[ListedJobAnswer]:
        """List jobs, the newest first; `q` finds words, `summary` leaves fields out, `limit` is the size of a page."""
        query = {
            "status": status,
            "tag": tag,
            "q": q,
            "name": name,
            "owner": owner,
            "taskId": task_id,
            "priority": priority,
            "kind": kind,
            "nextRunBefore": next_run_before,
            "sort": sort,
            "limit": limit,
            **span(created_from, created_to),
            "fields": "summary" if summary else None,
        }
        return AsyncPages(self.sender, Call("GET", path_of("jobs"), query=query), ListedJobAnswer)

    async def edit(
        self, job_id: str, changes: Mapping[str, Any] | Schedule, *, if_version: int | None = None
    ) -> JobAnswer:
        """Change some fields of a job, by their names in the API; None restores a default. Or give it a schedule."""
        return JobAnswer(
            await self.sender.json("PATCH", path_of("jobs", job_id), changes, headers=matching(if_version))
        )

    async def pause(self, job_id: str, *, if_version: int | None = None) -> JobAnswer:
        """Keep the schedule of a job from starting runs until it is resumed."""
        return await self._act(job_id, "pause", if_version)

    async def resume(self, job_id: str, *, if_version: int | None = None) -> JobAnswer:
        """Resume a job; its catch-up policy decides about fires that were due meanwhile."""
        return await self._act(job_id, "resume", if_version)

    async def skip_next(self, job_id: str, *, if_version: int | None = None) -> JobAnswer:
        """Skip the next fire of a job that has not started."""
        return await self._act(job_id, "skip-next", if_version)

    async def _act(self, job_id: str, verb: str, if_version: int | None) -> JobAnswer:
        path = path_of("jobs", job_id, verb)
        return JobAnswer(await self.sender.json("POST", path, headers=matching(if_version)))

    async def trigger(
        self, job_id: str, *, payload: Given = UNSET, downstream: bool = False, idempotency_key: str | None = None
    ) -> AsyncRunHandle:
        """Run a job now, beside its schedule; `downstream` also runs all jobs that depend on it."""
        body = {"payload": payload, **({"downstream": True} if downstream else {})}
        path, headers = path_of("jobs", job_id, "trigger"), keyed(idempotency_key)
        answer = await self.sender.json("POST", path, body, headers=headers)
        return AsyncRunHandle(self.sender, RunAnswer(answer))

    async def delete(
        self,
        job_id: str,
        *,
        children: Literal["detach", "cancel"] | None = None,
        if_version: int | None = None,
    ) -> JobAnswer:
        """Cancel a job; `children` says what becomes of open jobs that depend on it."""
        headers = matching(if_version)
        path = path_of("jobs", job_id)
        return JobAnswer(await self.sender.json("DELETE", path, query={"children": children}, headers=headers))

    def runs(
        self,
        job_id: str,
        *,
        status: OneOrMore | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
        limit: int | None = None,
    ) -> AsyncPages[RunAnswer]:
        """List the ledger of a job, the newest fire first: its runs, and the fires that did not run."""
        query = {"status": status, "limit": limit, **span(from_, to)}
        return AsyncPages(self.sender, Call("GET", path_of("jobs", job_id, "runs"), query=query), RunAnswer)

    def executions(
        self,
        job_id: str,
        *,
        status: OneOrMore | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
        limit: int | None = None,
    ) -> AsyncPages[ExecutionAnswer]:
        """List the attempts of a job's runs, the newest first."""
        query = {"status": status, "limit": limit, **span(from_, to)}
        return AsyncPages(self.sender, Call("GET", path_of("jobs", job_id, "executions"), query=query), ExecutionAnswer)

    async def graph(self, job_id: str) -> GraphAnswer:
        """Read the jobs that a job depends on, and those that depend on it: up to a thousand."""
        return GraphAnswer(await self.sender.json("GET", path_of("jobs", job_id, "graph")))

    def history(self, job_id: str, *, limit: int | None = None) -> AsyncPages[ChangeAnswer]:
        """List the changes of a job, the newest first."""
        query = {"limit": limit}
        return AsyncPages(self.sender, Call("GET", path_of("jobs", job_id, "revisions"), query=query), ChangeAnswer)

    async def restore(self, job_id: str, revision: int, *, if_version: int | None = None) -> JobAnswer:
        """Restore one of a job's revisions."""
        path = path_of("jobs", job_id, "revisions", str(revision), verb="restore")
        return JobAnswer(await self.sender.json("POST", path, headers=matching(if_version)))

    async def cost(self, job_id: str) -> JobCostAnswer:
        """Read what the runs of a job cost in the last day, and in the last 30."""
        return JobCostAnswer(await self.sender.json("GET", path_of("jobs", job_id, "cost")))


@dataclass(frozen=True)
class _Named:
    """A job of a batch under an id."""

    job_id: str
    job: JobLike

    def to_json(self) -> dict[str, Any]:
        """Return the item of the batch."""
        return {"jobId": self.job_id, **(self.job if isinstance(self.job, Mapping) else self.job.to_json())}
