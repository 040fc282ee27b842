"""A user who lists runs over all jobs of a tenant, page by page, while these run, fail and are retried."""

from dataclasses import dataclass
from random import Random

from tests.simulation.actors.client import Client
from tests.simulation.story import Story
from tests.simulation.world.process import Process
from timeball.domain.model.ids import JobKey
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.time.instants import HOUR_MS
from timeball.engine.context import Context
from timeball.engine.runs.list_runs import RunsCursor, RunsPage, RunsQuery, list_runs
from timeball.engine.runs.notable_runs import RunFilter

_LIMIT = 5


@dataclass(frozen=True)
class Listing:
    """A list that was read to its end between two true times (ms), with the filter by which it was asked for."""

    began_at: int
    ended_at: int
    where: RunFilter
    runs: tuple[Run, ...]


async def list_tenants_runs(story: Story) -> None:
    """Read one list after the other, until the story is over. The user's draws and clock disturb no one else."""
    draw = Random(f"the lists of {story.seed}")
    process = Process("user-lister", story.clock, draw, story.weather)
    client = Client(story, process)
    while True:
        await process.sleep_until(process.now() + draw.randrange(2_000, 15_000))
        states = draw.choice((frozenset[RunState](), frozenset({RunState.FAILED})))
        where = RunFilter(draw.choice(("user-1", "user-2")), states)
        began_at, found = story.clock.now(), list[Run]()
        asked, following = RunsQuery(where, began_at - HOUR_MS), None
        while True:
            page = await client.request("list runs", JobKey(where.tenant, "-"), _page, asked, following)
            if page is not None:  # a page without an answer is asked for again
                found += page.runs
                following = page.following
                if following is None:
                    break
        story.listings.append(Listing(began_at, story.clock.now(), where, tuple(found)))


def _page(context: Context, asked: RunsQuery, following: RunsCursor | None) -> RunsPage:
    return list_runs(context, asked, _LIMIT, following)
