"""A user who puts jobs that have ended again, under their ids."""

from random import Random

from tests.simulation.actors.client import Client
from tests.simulation.story import Story
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.tenants.actor import Actor
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule
from timeball.engine.changes.change import Changed, cancel, renew
from timeball.engine.context import Context


async def put_again(story: Story) -> None:
    """Put ended jobs again, and cancel some jobs for it, during the storm."""
    draw, client = Random(f"the generations of {story.seed}"), Client(story, story.new_process("user-again"))
    while story.clock.now() < story.storm_ends_at:
        await client.process.sleep_until(client.process.now() + draw.randrange(1_000, 12_000))
        keys = [key for key in story.jobs if key in story.store.jobs and story.store.jobs[key].spec.event is None]
        ended = [key for key in keys if not story.store.jobs[key].is_open]
        by = Actor(f"again-{next(story.requests)}")
        if ended:
            key, now = draw.choice(ended), client.process.now()
            every = Every(draw.choice((2, 5)), now // SECOND_MS * SECOND_MS)
            timing = draw.choice((At(now + draw.randrange(-5_000, 20_000)), every))
            schedule = Schedule(timing, max_runs=draw.choice((None, 4)) if timing is every else None)
            await client.ask("put again", key, put, key, schedule, str(next(story.names)), by)
        elif keys and draw.random() < 0.3:
            key = draw.choice(keys)
            await client.ask("cancel", key, cancel, [(key, None)], by)


def put(context: Context, key: JobKey, schedule: Schedule, name: str, by: Actor) -> list[Changed | str]:
    (job,) = context.store.jobs.read([key], with_work=True)
    if job is None or job.is_open:
        return ["it has not ended"]
    if job.spec.name == name:
        return ["it was put by this request, and has ended again"]
    return [*renew(context, [(job, evolve(job.spec, schedule=schedule, name=name))], context.clock.now(), by)]
