"""What quotas and keys must hold: no more runs begin in a second, or are under way at once, than may.

Each is a generator of complaints. In some stories one user's tenant has the one quota, and another's the other; in
others their jobs name keys, each tenant its own by the same names.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.simulation.history import Write
from tests.simulation.story import MOST_SKEW_MS, Story
from timeball.domain.model.evolve import evolve
from timeball.domain.model.flow import ConcurrencyKey, OnFull, RateKey
from timeball.domain.model.freeze import Freezes
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.job import JobSpec
from timeball.domain.model.limiter import Bounds, Fixed
from timeball.domain.model.quotas import Quotas
from timeball.domain.model.run import Run, RunState
from timeball.domain.time.instants import SECOND_MS
from timeball.ports.collections.rows import Swap

QUOTAS = {"user-1": Quotas(runs_at_once=2), "user-2": Quotas(runs_per_second=1)}
_AT_ONCE, _A_SECOND = 2, 1


@dataclass(frozen=True)
class _Bound:
    """What bounds a run: of which tenant's, by what name, and how many; None: any."""

    tenant: str
    name: str
    at_once: int | None = None
    a_second: int | None = None


def with_keys(spec: JobSpec) -> JobSpec:
    """Return a job with the keys that it names as long as it lives."""
    concurrency, rate = _keys_of(spec.key)
    return replace(spec, flow=replace(spec.flow, concurrency=concurrency, rate=rate))


def _keys_of(job: JobKey) -> tuple[ConcurrencyKey | None, RateKey | None]:
    number = int(job.job_id.removeprefix("job-")) if job.job_id.startswith("job-") else None
    skips = OnFull.SKIP if number is not None and number % 4 == 3 else OnFull.WAIT
    concurrency = None if number is None or number % 4 == 1 else ConcurrencyKey("key", _AT_ONCE, skips)
    return concurrency, None if number is None or number % 4 not in (1, 2) else RateKey("rate", _A_SECOND)


def _bounds_of(story: Story, job: JobKey) -> Iterator[_Bound]:
    if story.has_quotas and job.tenant in QUOTAS:
        quotas = QUOTAS[job.tenant]
        yield _Bound(job.tenant, "", quotas.runs_at_once, quotas.runs_per_second)
    if story.has_keys:
        concurrency, rate = _keys_of(job)
        if concurrency is not None:
            yield _Bound(job.tenant, concurrency.key, at_once=concurrency.limit)
        if rate is not None:
            yield _Bound(job.tenant, rate.key, a_second=_A_SECOND)


def bind(story: Story) -> None:
    """Give the tenants their quotas, before anything is done."""
    story.store.freezes.insert([Freezes(tenant, quotas=quotas) for tenant, quotas in QUOTAS.items()], story.clock.now())


def relax(story: Story) -> None:
    """Let the tenants have more, so that a story ends; who keeps a place for nothing is in the way still."""
    now = story.clock.now()
    if story.has_quotas:
        rows = [row for row in story.store.freezes.values() if row.tenant in QUOTAS]
        more = Quotas(runs_at_once=20, runs_per_second=20)
        story.store.freezes.swap([Swap(row, evolve(row, quotas=more)) for row in rows], now)
    limiters = [row for row in story.store.limiters.values() if row.key.name]
    fixed = Fixed(Bounds(20, 20), 1)
    story.store.limiters.swap([Swap(row, evolve(row, fixed=fixed)) for row in limiters], now)


def _no_more_runs_are_under_way_than_may(story: Story) -> Iterator[str]:
    """Asked at each claim that may still call. One whose lease is out calls no more, by the fastest clock.

    But an executor that stood still for longer than its lease, and takes up its call again, is one too many.
    """
    live: dict[tuple[_Bound, RunId], Run] = {}
    for write in story.store.history.runs if story.has_quotas or story.has_keys else ():
        after = write.after
        for bound in _bounds_of(story, after.id.job):
            live.pop((bound, after.id), None)
            if bound.at_once is None or after.state is not RunState.RUNNING or _is_revived(write):
                continue
            if _is_bound(story, write) and write.at + MOST_SKEW_MS < (after.lease_until or 0):
                same = [one for (by, _), one in live.items() if by == bound]
                others = [one for one in same if write.at + MOST_SKEW_MS < (one.lease_until or 0)]
                if len(others) >= bound.at_once:
                    yield f"{write} beside {others}"
            live[bound, after.id] = after


def _is_revived(write: Write[Run]) -> bool:
    before, after = write.before, write.after
    is_renewed = before is not None and before.state is RunState.RUNNING and before.attempt == after.attempt
    return is_renewed and before is not None and (before.lease_until or 0) <= write.at + MOST_SKEW_MS


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


QUOTA_RULES = (_no_more_runs_are_under_way_than_may, _no_more_runs_begin_in_a_second_than_may)
