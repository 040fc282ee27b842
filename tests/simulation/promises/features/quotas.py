"""What quotas and keys must hold: no more runs begin in a second, or are under way at once, than may."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tests.simulation.actors.quotas import A_SECOND, QUOTAS, keys_of
from tests.simulation.story import Story
from tests.simulation.world.history import Write
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.time.instants import SECOND_MS


@dataclass(frozen=True)
class _Bound:
    """What bounds a run: of which tenant's, by what name, and how many; None: any."""

    tenant: str
    name: str
    at_once: int | None = None
    a_second: int | None = None


def _bounds_of(story: Story, job: JobKey) -> Iterator[_Bound]:
    if story.has_quotas and job.tenant in QUOTAS:
        quotas = QUOTAS[job.tenant]
        yield _Bound(job.tenant, "", quotas.runs_at_once, quotas.runs_per_second)
    if story.has_keys:
        concurrency, rate = keys_of(job)
        if concurrency is not None:
            yield _Bound(job.tenant, concurrency.key, at_once=concurrency.limit)
        if rate is not None:
            yield _Bound(job.tenant, rate.key, a_second=A_SECOND)


def _no_more_runs_are_under_way_than_may(story: Story) -> Iterator[str]:
    """Check at each claim how many runs are under way by their rows: no lease that is out makes room for another.

    An executor that stands still for longer than its lease may take up its call again, or hand it over.
    """
    live: dict[tuple[_Bound, RunId], Run] = {}
    for write in story.store.history.runs if story.has_quotas or story.has_keys else ():
        after = write.after
        for bound in _bounds_of(story, after.id.job):
            live.pop((bound, after.id), None)
            if bound.at_once is None or after.state is not RunState.RUNNING:
                continue
            others = [one for (by, _), one in live.items() if by == bound]
            if _is_bound(story, write) and len(others) >= bound.at_once:
                yield f"{write} beside {others}"
            live[bound, after.id] = after


def _no_more_runs_begin_in_a_second_than_may(story: Story) -> Iterator[str]:
    """By the clocks of those who claimed them, in the second of its instant, or of its claim if that is later."""
    begun: Counter[tuple[_Bound, int]] = Counter()
    for write in story.store.history.runs if story.has_quotas or story.has_keys else ():
        after = write.after
        for bound in _bounds_of(story, after.id.job) if _is_bound(story, write) else ():
            second = max(after.claimed_at or 0, after.not_before) // SECOND_MS
            begun[bound, second] += 1
            if bound.a_second is not None and begun[bound, second] > bound.a_second:
                yield f"{begun[bound, second]} begin at once: {write}"


def _is_bound(story: Story, write: Write[Run]) -> bool:
    """Say whether a write is a claim, while the storm lasts."""
    before, after = write.before, write.after
    is_claim = before is not None and after.state is RunState.RUNNING and after.attempt > before.attempt
    return is_claim and after.fan is None and write.at < story.storm_ends_at


PROMISES = (_no_more_runs_are_under_way_than_may, _no_more_runs_begin_in_a_second_than_may)
