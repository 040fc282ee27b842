"""A user who cancels jobs on which others depend, and says what becomes of these."""

from random import Random

from tests.simulation.actors.client import Client
from tests.simulation.story import Story
from tests.simulation.world.receiver import WEAVERS
from timeball.domain.model.ids import JobKey
from timeball.domain.model.tenants.actor import Actor
from timeball.domain.model.terms.dependency import Children
from timeball.engine.changes.remove import Removal, Removed, remove
from timeball.engine.context import Context

REMOVER = "remover"
"""Begins the name of the actor of each removal; what becomes of the children, and an instant, follow."""


async def remove_nodes(story: Story) -> None:
    """Cancel jobs of the graph, one after the other, during the storm."""
    draw, client = Random(f"the removals of {story.seed}"), Client(story, story.new_process("user-remover"))
    while story.clock.now() < story.storm_ends_at:
        await client.process.sleep_until(client.process.now() + draw.randrange(5_000, 30_000))
        keys = [
            key for key in sorted(story.store.jobs) if key.tenant == WEAVERS and not key.job_id.startswith("notice-")
        ]
        if keys:
            key, children = draw.choice(keys), draw.choice((None, Children.DETACH, Children.DETACH, Children.CANCEL))
            name = Actor(f"{REMOVER} {children} {story.clock.now()}")
            await client.ask("remove", key, remove_one, key, children, name)


def remove_one(context: Context, key: JobKey, children: Children | None, by: Actor) -> Removed:
    return remove(context, Removal(key, children=children), by)
