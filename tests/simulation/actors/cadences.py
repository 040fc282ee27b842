"""A user whose jobs have fire times of their own, and are judged by the latest cycles of jobs of the graph."""

from random import Random

from tests.simulation.actors.client import Client
from tests.simulation.actors.graphs import submit_examined
from tests.simulation.story import START, Story
from tests.simulation.world.receiver import HOSTS, WEAVERS
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.tenants.actor import Actor
from timeball.domain.model.terms.dependency import Parent, ParentEnd, TriggerRule
from timeball.domain.model.terms.policies import RetryPolicy, Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule, Timing

_MOST = 7
_BEGIN = START // SECOND_MS * SECOND_MS


async def judge_by_latest(story: Story) -> None:
    """Submit a job that fires often, and jobs that are judged by its latest cycles and by those of others."""
    draw, client = Random(f"the cadences of {story.seed}"), Client(story, story.new_process("user-cadences"))
    number = 0
    while story.clock.now() < story.storm_ends_at:
        if number < _MOST:
            spec = _feed(draw) if number == 0 else _report(draw, story, number, client.process.now())
            await client.ask("weave", spec.key, submit_examined, spec, client.process.now(), Actor(spec.key.job_id))
            number += 1
        await client.process.sleep_until(client.process.now() + draw.randrange(1_000, 15_000))


def _spec(draw: Random, job_id: str, timing: Timing) -> JobSpec:
    return JobSpec(
        key=JobKey(WEAVERS, job_id),
        schedule=Schedule(timing),
        work=Work(HttpTarget(f"https://{draw.choice(HOSTS)}/hook"), '{"n": 0}'),
        fingerprint="print",
        retry=RetryPolicy(draw.choice((0, 0, 1)), 2, max_seconds=20),
        timeout_seconds=5,
    )


def _feed(draw: Random) -> JobSpec:
    return _spec(draw, "feed", Every(draw.choice((6, 12)), _BEGIN))


def _report(draw: Random, story: Story, number: int, now: int) -> JobSpec:
    """Return a job that is judged by latest cycles; it may also wait for the end of a job that runs once."""
    jobs = sorted((job for job in story.store.jobs.values() if job.key.tenant == WEAVERS), key=lambda job: job.key)
    recurring = [job.key.job_id for job in jobs if not job.spec.schedule.is_one_off and job.key.job_id != "feed"]
    gates = [job.key.job_id for job in jobs if job.spec.schedule.is_one_off and job.spec.notice is None]
    others = draw.sample(recurring, min(len(recurring), draw.choice((0, 0, 1))))
    parents = [Parent(one, on=ParentEnd.LATEST) for one in ("feed", *others)]
    parents += [Parent(one) for one in draw.sample(gates, min(len(gates), draw.choice((0, 0, 1))))]
    every = Every(draw.choice((9, 25, 40)), _BEGIN + draw.randrange(5) * SECOND_MS)
    timing = draw.choice((every, every, At(now + draw.randrange(-5_000, 40_000))))
    rule = draw.choice((TriggerRule.ALL_SUCCEEDED, TriggerRule.ALL_SUCCEEDED, *TriggerRule))
    return JobSpec(
        **{
            **vars(_spec(draw, f"report-{number}", timing)),
            "depends_on": tuple(parents),
            "trigger_rule": rule,
            "dependency_timeout_seconds": draw.choice((40, 3_600)),
            "pass_parents": draw.random() < 0.5,
        }
    )
