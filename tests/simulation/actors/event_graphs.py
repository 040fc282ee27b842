"""A user whose jobs run on events, and who lets other jobs depend on them: each event begins a cycle."""

from contextlib import suppress
from random import Random

from tests.simulation.actors.client import Client
from tests.simulation.actors.edge import submitting
from tests.simulation.actors.events import PATTERNS
from tests.simulation.story import Story
from tests.simulation.world.receiver import HOSTS
from timeball.api.http.problems import ProblemError
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.tenants.actor import Actor
from timeball.domain.model.terms.dependency import Parent, TriggerRule
from timeball.domain.model.terms.policies import RetryPolicy, Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, OnEvents, Schedule
from timeball.engine.changes.change import pause, resume
from timeball.engine.context import Context
from timeball.engine.dependencies.examine import examine
from timeball.engine.runs.manual import retry_runs
from timeball.engine.scheduling.submit import Submitted, submit

TENANT = "user-3"
_MOST = 8


async def grow_below_events(story: Story) -> None:
    """Submit two jobs on events, then jobs that depend on them; pause some, and retry dead runs, during the storm."""
    draw, client = Random(f"the graphs below events of {story.seed}"), Client(story, story.new_process(TENANT))
    while story.clock.now() < story.storm_ends_at:
        jobs = [job for key, job in sorted(story.store.jobs.items()) if key.tenant == TENANT]
        by = Actor(f"{TENANT}-{next(story.requests)}")
        if len(jobs) < 2:
            spec = _on_events(f"first-{len(jobs)}", draw.choice(PATTERNS))
            with suppress(ProblemError):
                await client.ask("submit", spec.key, submitting(client, submit), [spec], client.process.now(), by)
        elif len(jobs) < _MOST and draw.random() < 0.6:
            spec = _below(f"next-{len(jobs)}", draw.sample(jobs, draw.choice((1, 1, 2))), draw)
            await client.ask("weave", spec.key, _submit, spec, client.process.now(), by)
        else:
            await _change(client, draw.choice(jobs), draw, by)
        await client.process.sleep_until(client.process.now() + draw.randrange(100, 6_000))


async def _change(client: Client, job: Job, draw: Random, by: Actor) -> None:
    dead = [run.id for run in client.story.store.runs.values() if run.id.job == job.key and run.is_dead_letter]
    if dead:
        await client.ask("retry", job.key, retry_runs, dead[:1])
    elif draw.random() < 0.3:
        await client.ask("pause", job.key, pause, [(job.key, None)], by)
    else:
        await client.ask("resume", job.key, resume, [(job.key, None)], by)


def _on_events(name: str, pattern: str) -> JobSpec:
    return JobSpec(
        key=JobKey(TENANT, name),
        schedule=Schedule(OnEvents()),
        work=Work(HttpTarget(f"https://{HOSTS[0]}/hook"), '{"n": 0}'),
        fingerprint="print",
        retry=RetryPolicy(1, 2, max_seconds=20),
        timeout_seconds=5,
        event=pattern,
    )


def _below(name: str, parents: list[Job], draw: Random) -> JobSpec:
    return evolve(
        _on_events(name, ""),
        schedule=Schedule(At(SECOND_MS)),  # until its parents give it theirs
        event=None,
        depends_on=tuple(Parent(job.key.job_id) for job in parents),
        trigger_rule=draw.choice((TriggerRule.ALL_SUCCEEDED, *TriggerRule)),
        dependency_timeout_seconds=draw.choice((40, 3_600)),
        inherits=True,
    )


def _submit(context: Context, spec: JobSpec, now: int, by: Actor) -> list[Submitted | str]:
    (examined,) = examine(context, [spec])
    if examined.faults:
        return [examined.faults[0].sentence]
    return [*submit(context, [examined.spec], now, by, ancestors={spec.key: examined.ancestors})]
