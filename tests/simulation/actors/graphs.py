"""Users who build graphs of jobs, change their edges, and repair dead runs."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from random import Random

from tests.simulation.actors.client import Client
from tests.simulation.actors.edge import rewiring
from tests.simulation.actors.notices import telling_of_blocks
from tests.simulation.story import START, Story
from tests.simulation.world.receiver import HOSTS, WEAVERS
from timeball.api.http.problems import ProblemError
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.tenants.actor import Action, Actor
from timeball.domain.model.terms.dependency import Parent, TriggerRule
from timeball.domain.model.terms.policies import RetryPolicy, Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import SECOND_MS, InvalidSchedule
from timeball.domain.time.schedule import At, Every, Schedule
from timeball.engine.changes.change import Changed, cancel, pause, resume, revise
from timeball.engine.context import Context
from timeball.engine.dependencies.examine import examine
from timeball.engine.runs.manual import retry_runs, succeed_runs
from timeball.engine.scheduling.submit import Submitted, submit

_MOST = 14

_VERBS = ("rewire", "rewire", "mend", "mend", "pause", "resume", "cancel", "reschedule")


async def weave(story: Story, number: int) -> None:
    """Submit jobs that depend on earlier ones, change their parents, and repair dead runs, during the storm."""
    weaver = _Weaver(story, story.new_process(f"user-weaver-{number}"), number)
    while story.clock.now() < story.storm_ends_at:
        await weaver.act()
        await weaver.process.sleep_until(weaver.process.now() + weaver.draw.randrange(100, 12_000))


class _Weaver(Client):
    """One of the users who work on the same graph."""

    def __init__(self, story: Story, process: object, number: int) -> None:
        super().__init__(story, process)  # type: ignore[arg-type]
        self.draw = Random(f"the graphs of {story.seed}, {number}")
        self.number = number

    @property
    def by(self) -> Actor:
        """The actor of the next request."""
        return Actor(f"{self.process.name}-{next(self.story.requests)}")

    async def act(self) -> None:
        jobs = self._jobs()
        if len(jobs) < _MOST and self.draw.random() < 0.5:
            await self._submit(jobs)
        elif jobs:
            await self._change(self.draw.choice(jobs))

    def _jobs(self) -> list[Job]:
        return [
            job
            for key, job in sorted(self.story.store.jobs.items())
            if key.tenant == WEAVERS and job.spec.notice is None
        ]

    async def _submit(self, jobs: Sequence[Job]) -> None:
        draw, now = self.draw, self.process.now()
        jobs_of = {job.key.job_id: job for job in jobs}
        parents = tuple(
            Parent(job.key.job_id) for job in draw.sample(jobs, min(len(jobs), draw.choice((0, 1, 1, 2, 3))))
        )
        key = JobKey(WEAVERS, f"node-{len(jobs)}-{self.number}")
        is_recurring = any(not jobs_of[one.job_id].spec.schedule.is_one_off for one in parents)
        often = Every(20, START // SECOND_MS * SECOND_MS)
        at = At(now + draw.randrange(-10_000, 40_000))
        spec = JobSpec(
            key=key,
            schedule=Schedule(often if draw.random() < 0.3 else at),
            work=Work(HttpTarget(f"https://{draw.choice(HOSTS)}/hook"), '{"n": 0}'),
            fingerprint="print",
            retry=RetryPolicy(draw.choice((0, 0, 1)), 2, max_seconds=20),
            timeout_seconds=5,
            depends_on=parents,
            trigger_rule=draw.choice((TriggerRule.ALL_SUCCEEDED, *TriggerRule)),
            dependency_timeout_seconds=draw.choice((40, 3_600, 3_600)),
            inherits=is_recurring or (bool(parents) and draw.random() < 0.7),
            pass_parents=bool(parents) and len(jobs) % 2 == 1,
            for_each=_whose_items(jobs_of, parents) if len(jobs) % 2 == 0 else None,
        )
        await self.ask("weave", key, submit_examined, telling_of_blocks(self.story, spec), now, self.by)

    async def _change(self, job: Job) -> None:
        draw, key = self.draw, job.key
        match draw.choice(_VERBS):
            case "rewire":
                others = [one.key.job_id for one in self._jobs() if one.key != key]
                parents = draw.sample(others, min(len(others), draw.choice((1, 1, 2))))
                with suppress(ProblemError):
                    await self.request("rewire", key, rewiring(self), key, tuple(map(Parent, parents)), self.by)
            case "reschedule":
                await self.request(
                    "reschedule", key, _reschedule, key, self.process.now() + draw.randrange(20_000), self.by
                )
            case "mend":
                dead = [run.id for run in self.story.store.runs.values() if run.id.job == key and run.is_dead_letter]
                if dead and draw.random() < 0.5:
                    await self.ask("succeed", key, succeed_runs, dead[:1], "by hand")
                elif dead:
                    await self.ask("retry", key, retry_runs, dead[:1])
            case "cancel" if draw.random() < 0.3:
                await self.ask("cancel", key, cancel, [(key, None)], self.by)
            case "pause":
                await self.ask("pause", key, pause, [(key, None)], self.by)
            case "resume":
                await self.ask("resume", key, resume, [(key, None)], self.by)


def _whose_items(jobs: Mapping[str, Job], parents: Sequence[Parent]) -> str | None:
    return next((one.job_id for one in parents if jobs[one.job_id].spec.for_each is None), None)


def submit_examined(context: Context, spec: JobSpec, now: int, by: Actor) -> list[Submitted | str]:
    """Submit a job as the API does, unless something is wrong with its parents."""
    (examined,) = examine(context, [spec])
    if examined.faults:
        return [examined.faults[0].sentence]
    return [*submit(context, [examined.spec], now, by, ancestors={spec.key: examined.ancestors})]


def _reschedule(context: Context, key: JobKey, at: int, by: Actor) -> list[Changed | str]:
    (job,) = context.store.jobs.read([key], with_work=True)
    if job is None or not job.is_open or job.spec.inherits or not job.spec.schedule.is_one_off:
        return ["it is too late"]
    try:
        return [*revise(context, [(job, evolve(job.spec, schedule=Schedule(At(at))))], Action.PATCH, by)]
    except InvalidSchedule:
        return ["it never fires"]
