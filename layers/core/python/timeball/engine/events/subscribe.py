"""Jobs get the rules on the bus that match their patterns, and rules go that no job needs.

Invariant: an open job with a pattern has a rule. ① The job is noted in the row of its pattern's subscription ② the rule
is made ③ the job is written. Whoever removes a rule first swaps that row to *gone*, which is refused if a job was noted
since it was read. From then on the next rule of the pattern has another name: so a remover that comes late removes
nothing that is needed.
"""

import logging
from collections.abc import Collection, Mapping, Sequence

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.terms.event import BusRule, Subscriber, Subscription, SubscriptionKey
from timeball.domain.planning.events import subscription_of
from timeball.domain.time.instants import MINUTE_MS
from timeball.engine.compare_and_swap import TRIES
from timeball.engine.context import Context
from timeball.ports.collections.rows import Swap
from timeball.ports.errors import ContendedError
from timeball.ports.event_bus import EventBus, PatternRefusedError, RulesUsedUpError

log = logging.getLogger(__name__)

_YOUNG_MS = MINUTE_MS
"""Longer than a request lives: a job that was noted so lately may be about to be written."""


def subscribe(context: Context, bus: EventBus, specs: Sequence[JobSpec], now: int) -> dict[JobKey, str]:
    """See to it that the bus matches the patterns of jobs that are about to be written.

    Return of those of which it cannot why not, in a sentence. Raises UnavailableError.
    """
    wanted: dict[SubscriptionKey, list[JobSpec]] = {}
    for spec in specs:
        if (key := subscription_of(spec)) is not None:
            wanted.setdefault(key, []).append(spec)
    refusals: dict[JobKey, str] = {}
    for key, group in wanted.items():
        refusal = _subscribed(context, bus, key, group, now)
        refusals |= {spec.key: refusal for spec in group if refusal is not None}
    return refusals


def _subscribed(
    context: Context, bus: EventBus, key: SubscriptionKey, specs: Sequence[JobSpec], now: int
) -> str | None:
    subscription = _noted(context, key, specs, now)
    if subscription is None:
        most = context.rules.max_subscribers
        return f"{most} jobs run on this pattern already, which is as many as may; let one of them start the others."
    try:
        _ensure(context, bus, subscription)
    except PatternRefusedError as refused:
        return f"EventBridge does not take this pattern: {refused}"
    except RulesUsedUpError:
        return (
            "The bus has as many rules as its quota at AWS allows, one for each distinct pattern; "
            "use a pattern that another job has, cancel jobs, or have the quota raised."
        )
    return None


def _ensure(context: Context, bus: EventBus, subscription: Subscription) -> None:
    """Make the rule; if there are too many, without those first that nobody needs."""
    try:
        bus.ensure(subscription)
    except RulesUsedUpError:
        retire(context, bus, bus.rules())
        bus.ensure(subscription)


def _noted(context: Context, key: SubscriptionKey, specs: Sequence[JobSpec], now: int) -> Subscription | None:
    """Note jobs in the row of their pattern; return it as it then stands, or None if it holds no more."""
    new = [Subscriber(spec.key.job_id, now) for spec in specs]
    for _ in range(TRIES):
        (row,) = context.store.subscriptions.read([key])
        if row is None:
            first = Subscription(key, specs[0].event or "", now, tuple(new))
            if len(new) > context.rules.max_subscribers:
                return None
            if context.store.subscriptions.insert([first], now)[0] is None:
                return first
            continue
        others = tuple(one for one in row.jobs if one.job_id not in {noted.job_id for noted in new})
        if len(others) + len(new) > context.rules.max_subscribers:
            jobs = _jobs_of(context, [row])
            others = tuple(one for one in others if _may_need(key, one, jobs, now))
        if len(others) + len(new) > context.rules.max_subscribers:
            return None
        after = evolve(row, jobs=(*others, *new), generation=row.generation + row.is_gone, is_gone=False)
        (swapped,) = context.store.subscriptions.swap([Swap(row, after)], now)
        if swapped.done:
            return swapped.row
    raise ContendedError("the jobs with this pattern kept changing")


def retire(context: Context, bus: EventBus, rules: Sequence[BusRule]) -> None:
    """Remove those rules that no job needs, or may be about to. Raises UnavailableError; it may then be repeated."""
    now = context.clock.now()
    rows = context.store.subscriptions.read([rule.key for rule in rules])
    standing = {row.key: row for row in rows if row is not None and not row.is_gone}
    jobs = _jobs_of(context, list(standing.values()))
    unneeded = [row for row in standing.values() if not any(_may_need(row.key, one, jobs, now) for one in row.jobs)]
    gone = [Swap(row, evolve(row, jobs=(), is_gone=True)) for row in unneeded]
    swapped = context.store.subscriptions.swap(gone, now)
    let_go = [swap.before.rule for swap, one in zip(gone, swapped, strict=True) if one.done]
    needed = {row.rule for row in standing.values()} - set(let_go)
    bus.remove([rule for rule in dict.fromkeys([*rules, *let_go]) if rule not in needed])


def retire_unneeded(context: Context, bus: EventBus, keys: Sequence[SubscriptionKey]) -> None:
    """Remove the rules of those subscriptions that no job needs, as `retire` does."""
    rows = context.store.subscriptions.read(keys)
    retire(context, bus, [row.rule for row in rows if row is not None and not row.is_gone])


def _jobs_of(context: Context, rows: Sequence[Subscription]) -> Mapping[JobKey, Job]:
    keys = list(dict.fromkeys(JobKey(row.key.tenant, one.job_id) for row in rows for one in row.jobs))
    return {job.key: job for job in context.store.jobs.read(keys) if job is not None}


def _may_need(key: SubscriptionKey, one: Subscriber, jobs: Mapping[JobKey, Job], now: int) -> bool:
    """Say whether a job that was noted has the pattern, or may be about to."""
    job = jobs.get(JobKey(key.tenant, one.job_id))
    if job is not None and not job.is_open:
        return False
    return (job is not None and subscription_of(job.spec) == key) or one.noted_at > now - _YOUNG_MS


def subscribers(context: Context, keys: Collection[SubscriptionKey]) -> dict[SubscriptionKey, list[Job]]:
    """Return the open jobs that have each pattern, with their work. Raises UnavailableError."""
    rows = [row for row in context.store.subscriptions.read(list(keys)) if row is not None]
    names = list(dict.fromkeys(JobKey(row.key.tenant, one.job_id) for row in rows for one in row.jobs))
    jobs = {job.key: job for job in context.store.jobs.read(names, with_work=True) if job is not None}
    found: dict[SubscriptionKey, list[Job]] = {key: [] for key in keys}
    for row in rows:
        named = [jobs.get(JobKey(row.key.tenant, one.job_id)) for one in row.jobs]
        found[row.key] = [
            job for job in named if job is not None and job.is_open and subscription_of(job.spec) == row.key
        ]
    return found
