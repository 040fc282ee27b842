"""A user who runs whole graphs at once: by triggers of a job and its descendants, and by backfills of these."""

from random import Random

from tests.simulation.actors.client import Client
from tests.simulation.story import START, Story
from tests.simulation.world.receiver import WEAVERS
from timeball.domain.backfill import Backfill, instants, new_backfill
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import BackfillKey
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.tenants.actor import Actor
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import MINUTE_MS
from timeball.engine.backfills import cancel_backfill, create_backfills
from timeball.engine.context import Context
from timeball.engine.runs.trigger import Trigger, trigger


async def run_pipelines(story: Story) -> None:
    """Begin named cycles, one after the other, during the storm; cancel some of the backfills."""
    draw, client = Random(f"the pipelines of {story.seed}"), Client(story, story.new_process("user-pipelines"))
    while story.clock.now() < story.storm_ends_at:
        await client.process.sleep_until(client.process.now() + draw.randrange(2_000, 20_000))
        jobs = [job for job in story.store.jobs.values() if job.key.tenant == WEAVERS]
        recurring = sorted((job for job in jobs if not job.spec.schedule.is_one_off), key=lambda job: job.key)
        if not recurring:
            continue
        job, name = draw.choice(recurring), f"cycle{next(story.names)}"
        if draw.random() < 0.6:
            asked = Trigger(job.key, request=name, fingerprint=name, downstream=True)
            await client.ask("run the graph", job.key, trigger, [asked], Actor(name))
        else:
            await client.ask("backfill the graph", job.key, backfill, job, name, draw.choice((0, 0, 2)))
            if draw.random() < 0.3:
                await client.process.sleep_until(client.process.now() + draw.randrange(1_000, 5_000))
                await client.request("cancel the backfill", job.key, cancel_it, BackfillKey(job.key, name))


def backfill(context: Context, job: Job, name: str, pace_seconds: int) -> list[Backfill | str]:
    """Backfill the graph as the API does."""
    (row,) = context.store.jobs.read([job.key])
    fires = [] if row is None else list(instants(row.spec.schedule, START - MINUTE_MS, START))
    if row is None or row.status is JobStatus.CANCELLED or not fires:
        return ["it is cancelled"]
    key, now = BackfillKey(job.key, name), context.clock.now()
    made = new_backfill(key, row, fires, pace_seconds, OverlapPolicy.ALLOW, now)
    return [*create_backfills(context, [evolve(made, graph=True)])]


def cancel_it(context: Context, key: BackfillKey) -> object:
    (standing,) = context.store.backfills.read([key])
    return standing and cancel_backfill(context, standing)
