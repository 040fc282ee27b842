"""Promises about quotas and limiters: no more runs begin in a second, or are under way at once, than they allow."""

from collections import Counter
from collections.abc import Iterator

from tests.simulation.actors.quotas import ACTIVE, MADE, QUOTAS, makes_few
from tests.simulation.story import MOST_SKEW_MS, Story
from tests.simulation.world.history import Write
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, LimiterKey, Origin, RunId
from timeball.domain.model.jobs.freeze import KNOWN_MS
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.limiter import Bounds
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.tenants.tenant import NO_QUOTAS
from timeball.domain.sharing.stated_limits import asks_of
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS


def _bounds_of(story: Story, write: Write[Run]) -> Iterator[tuple[LimiterKey, Bounds]]:
    """Yield the limiters of a claimed run and their bounds: the loosest since the run was given its slot."""
    run, history = write.after, story.store.history
    tenant, decided_at = run.id.job.tenant, (run.claimed_at or 0) - MOST_SKEW_MS
    if story.has_quotas and tenant in QUOTAS:
        key = LimiterKey(tenant)
        since_at = min(decided_at, _named_since(story, key, run.id, write.at)) - KNOWN_MS
        quotas = [row.quotas for row in history.rows_between(history.quotas[tenant], since_at, write.at)]
        yield key, _loosest([Bounds(one.runs_at_once, one.runs_per_second) for one in quotas])
    jobs = history.jobs_between(run.id.job, decided_at, write.at) if story.has_keys else []
    asks = [{ask.key: ask.bounds for ask in asks_of(job.spec, NO_QUOTAS)} for job in jobs]
    for key in set.intersection(*(set(of_one) for of_one in asks)) if asks else ():
        since_at = min(decided_at, _named_since(story, key, run.id, write.at))
        rows = history.rows_between(history.limiters[key], since_at, write.at)
        own = _loosest([of_one[key] for of_one in asks])
        held = [row.fixed.bounds.over(said) for row in rows for said in (row.said, own)]
        loosest = _loosest([one.over(own) for one in held or [own]])
        yield (
            key,
            evolve(
                loosest,
                slots=None if own.slots is None else loosest.slots,
                per_second=None if own.per_second is None else loosest.per_second,
            ),
        )


def _named_since(story: Story, key: LimiterKey, run: RunId, at: int) -> int:
    """Return since when a limiter has named a run without a break, if it names the run at an instant."""
    since_at = at
    for written_at, row in reversed(story.store.history.limiters[key]):
        if written_at > at:
            continue
        if all(one.run != run for one in row.begun):
            break
        since_at = written_at
    return since_at - MOST_SKEW_MS


def _loosest(bounds: list[Bounds]) -> Bounds:
    """Return bounds with the most of each; a bound that one of them lacks is none."""
    slots, rates, bursts = ([getattr(one, name) for one in bounds] for name in ("slots", "per_second", "burst"))
    return Bounds(
        None if None in slots else max(slots, default=None),
        None if None in rates else max(rates, default=None),
        max((burst or 1 for burst in bursts), default=None),
    )


def _no_more_runs_are_under_way_than_may(story: Story) -> Iterator[str]:
    """Check at each claim how many runs are under way by their rows. An expired lease makes no room for another run.

    An executor that hangs for longer than its lease may take up its call again, or hand it over. A run whose job no
    longer names the limiter does not count.
    """
    live: dict[RunId, tuple[Run, set[LimiterKey]]] = {}
    for write in story.store.history.runs if story.has_quotas or story.has_keys else ():
        after = write.after
        _, named = live.pop(after.id, (None, set()))
        if after.state is not RunState.RUNNING:
            continue
        bounded = dict(_bounds_of(story, write)) if _is_claim(write) else {}
        for key, bounds in bounded.items():
            others = [one for one, keys in live.values() if key in keys and _counts(story, one, key, write.at)]
            if bounds.slots is not None and len(others) >= max(bounds.slots, *_stated(story, others, key)):
                yield f"{key} with {bounds.slots}: {write} beside {others}"
        live[after.id] = after, named | {key for key, bounds in bounded.items() if bounds.slots is not None}


def _stated(story: Story, runs: list[Run], key: LimiterKey) -> list[int]:
    """Return the limits that the jobs of runs name for a limiter: each run goes by the limit of its own job."""
    stated = [
        job.spec.flow.concurrency
        for run in runs
        for job in story.store.history.jobs_between(run.id.job, run.claimed_at or 0, run.claimed_at or 0)
    ]
    return [0, *(one.limit for one in stated if one is not None and one.name == key.name)]


def _counts(story: Story, run: Run, key: LimiterKey, at: int) -> bool:
    """Return whether a run takes a slot of a limiter: its job has named the limiter ever since the run's claim."""
    jobs = story.store.history.jobs_between(run.id.job, run.claimed_at or 0, at)
    named = [job.spec.flow.concurrency for job in jobs]
    return not key.name or all(one is not None and one.name == key.name for one in named)


def _no_more_runs_begin_in_a_second_than_may(story: Story) -> Iterator[str]:
    """Seconds count by the clocks of the claiming processes, at the run's instant, or at its claim if that is later.

    If jobs name different rates of one limiter, the highest of them bounds the second.
    """
    begun: Counter[tuple[LimiterKey, int]] = Counter()
    most: dict[LimiterKey, float] = {}
    for write in story.store.history.runs if story.has_quotas or story.has_keys else ():
        after = write.after
        for key, bounds in _bounds_of(story, write) if _is_claim(write) else ():
            if bounds.per_second is None:
                most[key] = float("inf")
                continue
            second = max(after.claimed_at or 0, after.not_before) // SECOND_MS
            begun[key, second] += 1
            most[key] = max(most.get(key, 0), bounds.per_second + (bounds.burst or 1) - 1)
            if begun[key, second] > most[key]:
                yield f"{begun[key, second]} begin at once: {write}"


def _is_claim(write: Write[Run]) -> bool:
    before, after = write.before, write.after
    is_claim = before is not None and after.state is RunState.RUNNING and after.attempt > before.attempt
    return is_claim and after.fan is None


def _no_tenant_has_many_more_jobs_than_may(story: Story) -> Iterator[str]:
    """Check this at each creation. A request that stalls between the count and the insert may exceed the bound."""
    jobs: dict[JobKey, Job] = {}
    for write in story.store.history.jobs if story.has_quotas and story.hardships.has_submit_budgets else ():
        job = jobs[write.after.key] = write.after
        own = [one for one in jobs.values() if one.key.tenant == job.key.tenant and one.spec.notice is None]
        count = sum(one.is_open for one in own)
        if write.before is None and job.key.tenant in QUOTAS and count > ACTIVE + 1:
            yield f"{count} jobs are open: {job}"


def _no_more_runs_are_made_in_a_minute_than_may(story: Story) -> Iterator[str]:
    """Check the runs of events and items, in the minute of the clock by which they were made, during the storm."""
    made: Counter[tuple[str, int]] = Counter()
    for run in story.store.runs.values() if makes_few(story) else ():
        is_meant = run.id.origin in (Origin.EVENT, Origin.DEPENDENCY) and run.id.job.tenant in QUOTAS
        if is_meant and run.created_at < story.storm_ends_at - MOST_SKEW_MS - MINUTE_MS:
            made[run.id.job.tenant, run.created_at // MINUTE_MS] += 1
    for (tenant, minute), count in made.items():
        if count > MADE:
            yield f"{count} runs of {tenant} in minute {minute}"


PROMISES = (
    _no_more_runs_are_made_in_a_minute_than_may,
    _no_more_runs_are_under_way_than_may,
    _no_more_runs_begin_in_a_second_than_may,
    _no_tenant_has_many_more_jobs_than_may,
)
