"""What quotas of runs must hold: no more of a tenant begin in a second, or are under way at once, than may.

Each is a generator of complaints. In some stories one user's tenant has the one quota, and another's the other.
"""

from collections import Counter
from collections.abc import Iterator

from tests.simulation.history import Write
from tests.simulation.story import MOST_SKEW_MS, Story
from timeball.domain.model.evolve import evolve
from timeball.domain.model.freeze import Freezes
from timeball.domain.model.ids import RunId
from timeball.domain.model.quotas import Quotas
from timeball.domain.model.run import Run, RunState
from timeball.domain.time.instants import SECOND_MS
from timeball.ports.rows import Swap

QUOTAS = {"user-1": Quotas(runs_at_once=2), "user-2": Quotas(runs_per_second=1)}


def bind(story: Story) -> None:
    """Give the tenants their quotas, before anything is done."""
    story.store.freezes.insert([Freezes(tenant, quotas=quotas) for tenant, quotas in QUOTAS.items()], story.clock.now())


def relax(story: Story) -> None:
    """Let the tenants have more, so that a story ends; who keeps a place for nothing is in the way still."""
    rows = [row for row in story.store.freezes.values() if row.tenant in QUOTAS]
    more = Quotas(runs_at_once=20, runs_per_second=20)
    story.store.freezes.swap([Swap(row, evolve(row, quotas=more)) for row in rows], story.clock.now())


def _no_more_runs_are_under_way_than_may(story: Story) -> Iterator[str]:
    """Asked at each claim that may still call. One whose lease is out calls no more, by the fastest clock.

    But an executor that stood still for longer than its lease, and takes up its call again, is one too many.
    """
    live: dict[RunId, Run] = {}
    for write in story.store.history.runs if story.has_quotas else ():
        after, tenant = write.after, write.after.id.job.tenant
        live.pop(after.id, None)
        if after.state is not RunState.RUNNING or _is_revived(write):
            continue
        if _is_bound(story, write) and write.at + MOST_SKEW_MS < (after.lease_until or 0):
            same = [one for one in live.values() if one.id.job.tenant == tenant]
            others = [one for one in same if write.at + MOST_SKEW_MS < (one.lease_until or 0)]
            most = QUOTAS[tenant].runs_at_once
            if most is not None and len(others) >= most:
                yield f"{write} beside {others}"
        live[after.id] = after


def _is_revived(write: Write[Run]) -> bool:
    before, after = write.before, write.after
    is_renewed = before is not None and before.state is RunState.RUNNING and before.attempt == after.attempt
    return is_renewed and before is not None and (before.lease_until or 0) <= write.at + MOST_SKEW_MS


def _no_more_runs_begin_in_a_second_than_may(story: Story) -> Iterator[str]:
    """By the clocks of those who claimed them, in the second of its instant, or of its claim if that is later."""
    begun: Counter[tuple[str, int]] = Counter()
    for write in story.store.history.runs if story.has_quotas else ():
        if not _is_bound(story, write):
            continue
        after, tenant = write.after, write.after.id.job.tenant
        second = max(after.claimed_at or 0, after.not_before) // SECOND_MS
        begun[tenant, second] += 1
        most = QUOTAS[tenant].runs_per_second
        if most is not None and begun[tenant, second] > most:
            yield f"{begun[tenant, second]} begin at once: {write}"


def _is_bound(story: Story, write: Write[Run]) -> bool:
    """Say whether a write is a claim of a tenant with quotas, while the storm lasts."""
    before, after = write.before, write.after
    is_claim = before is not None and after.state is RunState.RUNNING and after.attempt > before.attempt
    return is_claim and after.id.job.tenant in QUOTAS and write.at < story.storm_ends_at


QUOTA_RULES = (_no_more_runs_are_under_way_than_may, _no_more_runs_begin_in_a_second_than_may)
