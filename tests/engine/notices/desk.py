"""A job with notices, and the notices that were sent, on a virtual clock."""

import json
from dataclasses import dataclass, field, replace
from typing import Any

from tests.engine.play import spec
from tests.engine.service import KEY, Service, Target, at
from tests.urls import url_of
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.terms.notify import Notify
from timeball.domain.model.terms.policies import RetryPolicy
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.schedule import Every
from timeball.engine.changes.change import ChangeOutcome, revise
from timeball.ports.target import Answer, Call
from timeball.testing.memory_store import MemoryStore

FAILED, RECOVERED, LATE, SUCCEEDED = (
    HttpTarget(f"https://told.example/{news}") for news in ("failed", "recovered", "late", "succeeded")
)
OF_STREAKS = Notify(on_failure=FAILED, on_recovery=RECOVERED)


@dataclass
class Targets(Target):
    """The target of jobs, and that of notices, each with its own answers."""

    of_jobs: list[int] = field(default_factory=list)
    of_notices: list[int] = field(default_factory=list)

    async def call(self, call: Call) -> Answer:
        statuses = self.of_notices if "told.example" in url_of(call.work.target) else self.of_jobs
        self.statuses = [statuses.pop(0)] if statuses else []
        return await super().call(call)


def begin(service: Service, notify: Notify | None = OF_STREAKS, **wanted: Any) -> None:
    """Store a job that fires each minute, first in a minute."""
    service.play.store_jobs([replace(a_spec(), notify=notify, **wanted)])


def a_spec() -> JobSpec:
    return spec("job", Every(60, at(60)), retry=RetryPolicy(max_retries=0))


def told(service: Service) -> list[tuple[str, dict[str, Any]]]:
    """Return the notices that were sent, in order: the path and the payload of each."""
    urls = [(url_of(call.work.target), call.work.payload) for _, call in service.target.calls]
    return [(url.rpartition("/")[2], json.loads(payload or "")) for url, payload in urls if "told.example" in url]


def names(service: Service) -> list[str]:
    return [name for name, _ in told(service)]


def notices(service: Service) -> list[Job]:
    assert isinstance(service.play.store, MemoryStore)
    return [job for job in service.play.store.jobs.values() if job.spec.notice is not None]


def change(service: Service, **wanted: Any) -> None:
    """Change the job as its user does."""
    job = service.play.store.jobs.read([KEY], with_work=True)[0]
    assert job is not None
    assert revise(service.play.context(), [(job, replace(job.spec, **wanted))])[0].outcome is ChangeOutcome.DONE
