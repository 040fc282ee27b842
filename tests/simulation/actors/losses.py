"""A loss of rows, messages and watches in the middle of a story, and an admin who recovers from it, twice."""

from collections.abc import Iterator
from random import Random

from tests.simulation.actors.client import Client
from tests.simulation.story import Story
from tests.simulation.world.loss import kept, lose, over
from timeball.domain.changes.change import LONGEST_REQUEST_SECONDS
from timeball.domain.model.ids import JobKey, OperationKey
from timeball.domain.model.jobs.job import Guarantee
from timeball.domain.model.tenants.actor import Actor
from timeball.domain.operation import JobMatch, Operation, OperationAction
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.engine.blackouts.freezes import start_tenant, stop_tenant
from timeball.engine.context import Context
from timeball.engine.operations.operation import create_operation
from timeball.testing.recorders import KeptTelemetry

_STARTS_AGAIN_MS = 8 * SECOND_MS
"""How long no process reaches the restored table: every process knows by then that the tenants are disabled."""


async def lose_and_recover(story: Story) -> None:
    """Remember all rows at an instant, lose what was written since at a later one, and recover twice.

    If rows are lost, the admin goes by docs/how-to/restore.md: all work that is under way is cut off, as by a
    deployment with another table, and tenants are disabled until the recovery is through.
    """
    story.is_mending = True
    draw, clock = Random(f"the loss of {story.seed}"), story.clock
    await clock.sleep_until(story.loses_since)
    standing = kept(story)
    await clock.sleep_until(story.loses_at)
    story.trace("rows, messages and watches are lost")
    loss = lose(story, standing, draw)
    story.losses.append(loss)
    tenants = sorted({key.tenant for key in story.store.jobs})
    once = {key.tenant for key, job in story.store.jobs.items() if job.spec.delivery is Guarantee.AT_MOST_ONCE}
    if loss.lost_rows:
        for executor in [*story.executors.values()]:
            executor.kill()
        for process in story.processes:
            process.life += 1
            process.cut_off_until = clock.now() + _STARTS_AGAIN_MS
    admin = Client(story, story.new_process("admin"))
    stopped = sorted(once) if loss.lost_rows else []
    for tenant in stopped:
        stop_tenant(_undisturbed(story), tenant)
    until = None
    for number in (1, 2):
        await clock.sleep_until(clock.now() + draw.choice((0, 500, 3_000, 20_000)))
        asked = [*_asked(story, tenants, f"recovery-{number}", admin.process.now(), until)]
        for one in asked:
            while await admin.request("recover", JobKey(one.key.tenant, one.key.name), _create, one) is None:
                pass
        until = asked[0].lost_by
        loss.asked.append((clock.now(), over(story)))
        await _until_through(story, asked)
        loss.ended.append(clock.now())
        for tenant in stopped:
            start_tenant(_undisturbed(story), tenant)
    await clock.sleep_until(loss.at + LONGEST_REQUEST_SECONDS * SECOND_MS)
    # A user's process may stall before it notes an answer, once more for as long as a request lasts.
    story.done = [
        one for one in story.done if not loss.since <= one.at <= loss.at + 2 * LONGEST_REQUEST_SECONDS * SECOND_MS
    ]
    story.is_mending = False


async def _until_through(story: Story, asked: list[Operation]) -> None:
    """Wait until an operation of each tenant has ended. It gives a job up after sixty tries, so the store recovers."""
    while any(one is None or one.is_running for one in story.store.operations.read([one.key for one in asked])):
        if story.clock.now() > story.storm_ends_at:
            story.weather.fails_before = story.weather.fails_after = 0
        await story.clock.sleep_until(story.clock.now() + SECOND_MS)


def _undisturbed(story: Story) -> Context:
    return Context(story.store, story.queue, story.clock, story.rules, KeptTelemetry())


def _create(context: Context, asked: Operation) -> list[Operation | None]:
    return [create_operation(context, asked)]


def _asked(story: Story, tenants: list[str], name: str, now: int, until: int | None) -> Iterator[Operation]:
    for tenant in tenants:
        yield Operation(
            OperationKey(tenant, name),
            OperationAction.RECOVER,
            JobMatch(),
            per_second=1_000,
            shard=0,
            created_at=now,
            updated_at=now,
            by=Actor("admin"),
            since=story.loses_since - MINUTE_MS,
            until=until,
            due_at=now,
        )
