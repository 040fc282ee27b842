"""Graphs of jobs at work: a letter names each job, and each target gives the answer that the test sets."""

from dataclasses import replace
from typing import Self

from tests.engine.play import NOW, PLAIN_RETRY, Play, spec
from tests.engine.service import Service
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.dependency import Parent, TriggerRule
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.dependencies.examine import examine
from timeball.engine.runs.manual import retry_runs
from timeball.engine.scheduling.submit import submit
from timeball.ports.target import Answer, Call
from timeball.targets.http.verdict import answered

BEGIN = NOW + 20 * SECOND_MS
ONCE = replace(PLAIN_RETRY, max_retries=0)


def key(job_id: str) -> JobKey:
    return JobKey("acme", job_id)


def node(
    job_id: str, parents: str = "", rule: TriggerRule = TriggerRule.ALL_SUCCEEDED, timeout: int = 86_400
) -> JobSpec:
    """Return a job with a single try. It has no schedule of its own if it depends on others."""
    return evolve(
        spec(job_id, At(BEGIN), ONCE),
        depends_on=tuple(map(Parent, parents.split())),
        trigger_rule=rule,
        inherits=bool(parents),
        dependency_timeout_seconds=timeout,
    )


class Graph:
    """A service whose targets answer 500 to the jobs of `failing`, and 200 to all others."""

    def __init__(self, *specs: JobSpec, failing: str = "") -> None:
        self.play = Play()
        self.service = Service(self.play)
        self.failing = set(failing.split())
        self.service.target.call = self._call  # type: ignore[method-assign]
        self.called: list[str] = []
        self.calls: list[Call] = []
        self.bodies: dict[str, str] = {}
        self.takes_ms: dict[str, int] = {}
        self.submit(*specs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.service.__exit__(*exception)

    def submit(self, *specs: JobSpec) -> None:
        """Submit jobs together, as the API does: parents first, at the fire times that they inherit."""
        examined = examine(self.play.context(), specs)
        assert [one.faults for one in examined] == [[] for _ in specs]
        ancestors = {one.spec.key: one.ancestors for one in examined}
        submit(self.play.context(), [one.spec for one in examined], self.play.clock.now(), ancestors=ancestors)

    def until(self, seconds: int) -> None:
        """Work until this many seconds after the graph's fire time."""
        self.service.until(BEGIN + seconds * SECOND_MS)

    def job(self, job_id: str) -> Job:
        return self.play.job(key(job_id))

    def statuses(self) -> dict[str, str]:
        """Return the status of each job."""
        jobs = sorted(self.play.store.jobs.values(), key=lambda job: job.key)  # type: ignore[attr-defined]
        return {job.key.job_id: job.listed_status.value for job in jobs}

    def run(self, job_id: str) -> Run:
        """Return the one run of a job."""
        (run,) = self.play.runs(key(job_id))
        return run

    def retry(self, job_id: str) -> None:
        refusal, _ = retry_runs(self.play.context(), [RunId(key(job_id), BEGIN, Origin.SCHEDULE)])[0]
        assert refusal is None

    async def _call(self, call: Call) -> Answer:
        now = self.play.clock.now()
        job_id = call.run.job.job_id
        self.called.append(job_id)
        self.calls.append(call)
        await self.play.clock.sleep_until(now + self.takes_ms.get(job_id, 0))
        status, body = 500 if job_id in self.failing else 200, self.bodies.get(job_id, "")
        return answered(call, now, self.play.clock.now(), status, body)


def expire(graph: Graph, job_id: str) -> None:
    """Delete the rows of a job that is over, as a time to live does. The edges to its children stay."""
    graph.play.store.jobs.pop(key(job_id))  # type: ignore[attr-defined]
    for run in graph.play.runs(key(job_id)):
        graph.play.store.runs.pop(run.id)  # type: ignore[attr-defined]
