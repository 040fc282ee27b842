"""Make the rules on the bus that match the patterns of jobs, and remove rules that no job needs.

Invariant: an open job with a pattern has a rule. ⓪ The tenant's row names the pattern, if there is room. ① The row of
the pattern's subscription notes the job. ② The rule is made. ③ The job is written. A process that removes a rule first
swaps the subscription to *gone*, which is refused if a job was noted since it was read. From then on the next rule of
the pattern has another name: so a late removal removes nothing that is needed.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.tenants.tenant import MOST_EVENT_PATTERNS
from timeball.domain.model.terms.event import (
    YOUNG_MS,
    BusRule,
    Patterns,
    Subscriber,
    Subscription,
    SubscriptionKey,
    with_pattern,
    without,
)
from timeball.domain.planning.ledger import subscription_of
from timeball.engine.blackouts.read import read_quotas
from timeball.engine.compare_and_swap import TRIES, compare_and_swap, put
from timeball.engine.context import Context
from timeball.ports.errors import ContendedError
from timeball.ports.event_bus import EventBus, PatternRefusedError, RulesUsedUpError
from timeball.ports.rows import Swap

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Unheard:
    """Why no rule matches a job's pattern, and whether the reason is its tenant's quota, which may pass."""

    why: str
    is_over_quota: bool = False


def subscribe(context: Context, bus: EventBus, specs: Sequence[JobSpec], now: int) -> dict[JobKey, Unheard]:
    """Make the bus match the patterns of jobs that are about to be written.

    Return why it cannot match the patterns of some jobs. A rule that was made for a refused job is removed. Raises
    UnavailableError.

    Order of writes of subscribe (a job that gets a pattern):

    0. Name the pattern in its tenant's row, if that has room; a pattern with a rule is named there already.
    1. Note the job in the subscription's row; a subscription that is gone gets the next generation.
    2. Make the rule of that generation; then submit, or change.

    Safe: an open job with a pattern has a rule; a tenant has no more rules than patterns that its row names.
    """
    refusals: dict[JobKey, Unheard] = {}
    for key, group in _by_pattern(specs).items():
        refusal = _subscribed(context, bus, key, group, now)
        refusals |= {spec.key: refusal for spec in group if refusal is not None}
    return refusals


def unsubscribe(context: Context, bus: EventBus, specs: Sequence[JobSpec], now: int) -> None:
    """Undo what `subscribe` did at an instant, for jobs that do not get their patterns after all.

    A job that has its pattern all the same keeps it, and so does a job that a later request has noted. Raises
    UnavailableError; the rules then go when room for others is needed.

    Order of writes of release a rule (of a job that is refused after all):

    1. Swap the subscription: drop the job's note, if no later request has noted the job.
    2. Retire.

    Safe: a later request may be about to write the job, so its note stays.
    """
    groups = _by_pattern(specs)
    jobs = {job.key: job for job in context.store.jobs.read([one.key for one in specs]) if job is not None}
    noted = {
        key: {Subscriber(spec.key.job_id, now) for spec in group if not _has_pattern(jobs.get(spec.key), key)}
        for key, group in groups.items()
    }

    def without_them(_: int, row: Subscription) -> Subscription | None:
        left = tuple(one for one in row.jobs if one not in noted[row.key])
        return None if left == row.jobs else evolve(row, jobs=left)

    rows = context.store.subscriptions.read(list(groups))
    compare_and_swap(context.store.subscriptions.swap, rows, without_them, context.clock.now())
    retire_unneeded(context, bus, list(groups))


def retire(context: Context, bus: EventBus, rules: Sequence[BusRule]) -> None:
    """Remove the rules that no job needs, or may be about to need. Raises UnavailableError; may then be repeated.

    Order of writes of retire (a rule that no job needs):

    1. Read the subscription, and its jobs strongly.
    2. Swap the subscription: gone.
    3. Remove the rule of its generation.

    Safe: step 2 is refused if a job was noted since step 1; step 3 removes no other rule, however late it comes.
    """
    now = context.clock.now()
    rows = context.store.subscriptions.read([rule.key for rule in rules])
    standing = {row.key: row for row in rows if row is not None and not row.is_gone}
    gone = _close_unneeded(context, list(standing.values()), now)
    needed = {row.rule for row in standing.values()} - gone.keys()
    bus.remove([rule for rule in dict.fromkeys([*rules, *gone]) if rule not in needed])


def retire_unneeded(context: Context, bus: EventBus, keys: Sequence[SubscriptionKey]) -> None:
    """Remove the rules of the subscriptions that no job needs, as `retire` does."""
    rows = context.store.subscriptions.read(keys)
    retire(context, bus, [row.rule for row in rows if row is not None and not row.is_gone])


def count_subscribers(context: Context, tenant: str, enough: int) -> int:
    """Return an upper bound of the jobs that a tenant's patterns let run, including jobs that ended lately.

    If the settings let no tenant have more than `enough`, nothing is read and 0 is returned. Raises UnavailableError.
    """
    most = read_quotas(context, [tenant])[tenant].event_patterns or MOST_EVENT_PATTERNS
    if most * context.rules.max_subscribers <= enough:
        return 0
    (row,) = context.store.patterns.read([tenant])
    keys = [SubscriptionKey(tenant, one.digest) for one in row.noted] if row is not None else []
    return sum(len(row.jobs) for row in context.store.subscriptions.read(keys) if row is not None)


def subscribers(context: Context, keys: Collection[SubscriptionKey]) -> dict[SubscriptionKey, list[Job]]:
    """Return the open jobs that have each pattern, with their work. Raises UnavailableError."""
    rows = {row.key: row for row in context.store.subscriptions.read(list(keys)) if row is not None}
    jobs = _jobs_of(context, list(rows.values()), with_work=True)
    noted = {key: [jobs[name] for name in row.job_keys if name in jobs] for key, row in rows.items()}
    return {key: [job for job in noted.get(key, ()) if _has_pattern(job, key)] for key in keys}


def count_lately(context: Context, keys: Collection[SubscriptionKey], now: int) -> dict[SubscriptionKey, int]:
    """Return how many open jobs have each pattern, as this process has read it lately. Raises UnavailableError."""
    rows = dict(
        zip(keys, context.known.read("subscriptions", context.store.subscriptions, list(keys), now), strict=True)
    )
    noted = {key: row.job_keys if row else [] for key, row in rows.items()}
    names = list(dict.fromkeys(name for own in noted.values() for name in own))
    jobs = dict(zip(names, context.known.read("jobs", context.store.jobs, names, now), strict=True))
    return {key: sum(_has_pattern(jobs[name], key) for name in own) for key, own in noted.items()}


def _by_pattern(specs: Sequence[JobSpec]) -> dict[SubscriptionKey, list[JobSpec]]:
    groups: dict[SubscriptionKey, list[JobSpec]] = {}
    for spec in specs:
        if (key := subscription_of(spec)) is not None:
            groups.setdefault(key, []).append(spec)
    return groups


def _subscribed(
    context: Context, bus: EventBus, key: SubscriptionKey, specs: Sequence[JobSpec], now: int
) -> Unheard | None:
    subscription = _noted(context, bus, key, specs, now)
    if isinstance(subscription, Unheard):
        return subscription
    try:
        _ensure(context, bus, subscription)
    except PatternRefusedError as refused:
        refusal = Unheard(f"EventBridge does not take this pattern: {refused}")
    except RulesUsedUpError:
        refusal = Unheard(
            "The bus has as many rules as its quota at AWS allows, one for each distinct pattern; "
            "use a pattern that another job has, cancel jobs, or have the quota raised."
        )
    else:
        return None
    unsubscribe(context, bus, specs, now)
    return refusal


def _ensure(context: Context, bus: EventBus, subscription: Subscription) -> None:
    """Make the rule. If there are too many rules, first remove those that no job needs."""
    try:
        bus.ensure(subscription)
    except RulesUsedUpError:
        retire(context, bus, bus.rules())
        bus.ensure(subscription)


def _noted(
    context: Context, bus: EventBus, key: SubscriptionKey, specs: Sequence[JobSpec], now: int
) -> Subscription | Unheard:
    """Note jobs in the row of their pattern, and the pattern in its tenant's row; return the pattern's row."""
    for _ in range(TRIES):
        noted = _try_to_note(context, bus, key, specs, now)
        if noted is not None:
            return noted
    raise ContendedError("the jobs with this pattern kept changing")


def _try_to_note(
    context: Context, bus: EventBus, key: SubscriptionKey, specs: Sequence[JobSpec], now: int
) -> Subscription | Unheard | None:
    """Do so by the row as it stands; return None if another process has written it since."""
    most = context.rules.max_subscribers
    (row,) = context.store.subscriptions.read([key])
    new = _notes(row, specs, now)
    jobs = (*_others(context, row, new, now), *new)
    if len(jobs) > most:
        return Unheard(
            f"{most} jobs run on this pattern already, which is the maximum; let one of them start the others."
        )
    refused = _take_pattern(context, bus, key, now) if row is None or row.is_gone else None
    if refused is not None:
        return refused
    if row is None:
        after = Subscription(key, specs[0].event or "", now, jobs)
    else:
        after = evolve(row, jobs=jobs, generation=row.generation + row.is_gone, is_gone=False)
    return put(context.store.subscriptions, row, after, now)


def _others(context: Context, row: Subscription | None, new: Sequence[Subscriber], now: int) -> Sequence[Subscriber]:
    """Return the other jobs in the row of a pattern; if they are too many, only those that may need the pattern."""
    if row is None:
        return ()
    names = {one.job_id for one in new}
    others = [one for one in row.jobs if one.job_id not in names]
    if len(others) + len(new) <= context.rules.max_subscribers:
        return others
    jobs = _jobs_of(context, [row])
    return [one for one in others if _may_need(row.key, one, jobs, now)]


def _notes(row: Subscription | None, specs: Sequence[JobSpec], now: int) -> tuple[Subscriber, ...]:
    """Return the notes of jobs. If another request may rely on a note, the new one is later, so that it is kept."""
    young = {one.job_id: one.noted_at for one in (row.jobs if row else ()) if one.noted_at > now - YOUNG_MS}
    names = [spec.key.job_id for spec in specs]
    return tuple(Subscriber(name, max(now, young[name]) + 1 if name in young else now) for name in names)


def _take_pattern(context: Context, bus: EventBus, key: SubscriptionKey, now: int) -> Unheard | None:
    """Note a pattern in the row of its tenant before it has a rule; return why the tenant may not have it, if so."""
    most = read_quotas(context, [key.tenant])[key.tenant].event_patterns or 0
    for _ in range(TRIES):
        (row,) = context.store.patterns.read([key.tenant])
        standing = row or Patterns(key.tenant)
        after, is_over = with_pattern(standing, key.digest, most, now), False
        if after is None:
            freed = _freed(context, bus, standing, now)
            after = with_pattern(freed, key.digest, most, now)
            is_over, after = after is None, after or freed
        if after == row or put(context.store.patterns, row, after, now) is not None:
            return _over(most) if is_over else None
    raise ContendedError("the patterns of this tenant kept changing")


def _over(most: int) -> Unheard:
    return Unheard(
        f"Your jobs may have {most} distinct patterns of events, those of the last minute among them; use a pattern "
        "that another job has, cancel jobs, or try again a minute later.",
        is_over_quota=True,
    )


def _freed(context: Context, bus: EventBus, patterns: Patterns, now: int) -> Patterns:
    """Return a tenant's patterns without those that have no rule. Once a minute, first remove unneeded rules.

    Order of writes of make room (for a pattern of a tenant at its bound):

    1. Once a minute, retire the rules of its patterns.
    2. Remove the rules of patterns that are gone, again.
    3. Swap the tenant's row: without these patterns.

    Safe: only patterns noted at least a minute ago are dropped; a pattern that comes back is noted anew, and step 3 is
    refused.
    """
    keys = {digest: SubscriptionKey(patterns.tenant, digest) for digest in patterns.old(now)}
    if patterns.checked_at <= now - YOUNG_MS:
        retire_unneeded(context, bus, list(keys.values()))
        patterns = evolve(patterns, checked_at=now)
    rows = dict(zip(keys, context.store.subscriptions.read(list(keys.values())), strict=True))
    gone = {digest: row for digest, row in rows.items() if row is None or row.is_gone}
    bus.remove([row.rule for row in gone.values() if row is not None])
    return without(patterns, gone)


def _close_unneeded(context: Context, rows: Sequence[Subscription], now: int) -> dict[BusRule, None]:
    """Swap the subscriptions that no job needs to *gone*; return their rules, in order."""
    jobs = _jobs_of(context, rows)
    unneeded = [row for row in rows if not any(_may_need(row.key, one, jobs, now) for one in row.jobs)]
    swaps = [Swap(row, evolve(row, jobs=(), is_gone=True)) for row in unneeded]
    swapped = context.store.subscriptions.swap(swaps, now)
    return {row.rule: None for row, one in zip(unneeded, swapped, strict=True) if one.done}


def _jobs_of(context: Context, rows: Sequence[Subscription], *, with_work: bool = False) -> Mapping[JobKey, Job]:
    keys = list(dict.fromkeys(key for row in rows for key in row.job_keys))
    return {job.key: job for job in context.store.jobs.read(keys, with_work=with_work) if job is not None}


def _may_need(key: SubscriptionKey, one: Subscriber, jobs: Mapping[JobKey, Job], now: int) -> bool:
    """Return whether a noted job has the pattern, or may be about to get it."""
    job = jobs.get(JobKey(key.tenant, one.job_id))
    if job is not None and not job.is_open:
        return False
    return _has_pattern(job, key) or one.noted_at > now - YOUNG_MS


def _has_pattern(job: Job | None, key: SubscriptionKey) -> bool:
    return job is not None and job.is_open and subscription_of(job.spec) == key
