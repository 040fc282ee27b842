"""The gate of limits: whether a run may begin, by the limits of its job and by the quotas of its tenant.

① Read the limiters. ② If a limiter is full, read the runs that have its slots. ③ Swap the limiters: each names the runs
that may begin before their claims are written, and expects any other run in its line. If the process dies after ③, the
run keeps its slot until a check finds that its row no longer needs it. A run that one limiter refuses keeps the slots
that others gave while it waits in that limiter's line; a rate token is lost.
"""

import logging
from collections.abc import Mapping, Sequence

from timeball.domain.attempts.claim import ClaimAction, Decision
from timeball.domain.model.ids import LimiterKey, RunId, fraction_of
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.limiter import Limiter, new_limiter
from timeball.domain.model.runs.run import Run, RunState, Waiting
from timeball.domain.sharing.slots_and_tokens import LimiterDecision, acquire, must_read_holders, without_ended
from timeball.domain.sharing.stated_limits import Ask, asks_of
from timeball.engine.blackouts.read import read_quotas
from timeball.engine.compare_and_swap import compare_and_swap, read_or_insert
from timeball.engine.context import Context
from timeball.engine.runs.waiting_lines import read_named
from timeball.ports.errors import UnavailableError

log = logging.getLogger(__name__)

_CONTENDED_MS = 800
"""How long, at most, a run waits before it asks again if other processes always wrote the limiter first."""


def pass_limiters(context: Context, starting: Sequence[tuple[Run, Job]], now: int) -> list[Decision | None]:
    """Decide about each run that has limits or quotas: if it may begin, it then has its slots and its rate token.

    A run whose answer is unknown asks again. Raises UnavailableError only if the quotas cannot be read.
    """
    quotas = read_quotas(context, list(dict.fromkeys(run.id.job.tenant for run, _ in starting)))
    asks = [(run, asked) for run, job in starting if (asked := asks_of(job.spec, quotas[run.id.job.tenant]))]
    decisions = {run.id: Decision(ClaimAction.CLAIM, starts_at=max(now, run.not_before)) for run, _ in asks}
    for stage in range(max((len(asked) for _, asked in asks), default=0)):
        asking = _asking(asks, decisions, stage)
        try:
            decisions |= _ask(context, asking, decisions, now)
        except UnavailableError as unavailable:
            log.warning("limiters not asked: %s", unavailable)
            again_at = now + context.rules.margin_ms
            decisions |= {run.id: _asks_again(decisions[run.id], again_at) for run, _ in asking}
    return [decisions.get(run.id) for run, _ in starting]


def _asking(
    asks: Sequence[tuple[Run, Sequence[Ask]]], decisions: Mapping[RunId, Decision], stage: int
) -> list[tuple[Run, Ask]]:
    """Return the next request of each run that no limiter has refused."""
    may_begin = [one for one in asks if decisions[one[0].id].action is ClaimAction.CLAIM]
    return [(run, asked[stage]) for run, asked in may_begin if len(asked) > stage]


def _ask(
    context: Context, asking: Sequence[tuple[Run, Ask]], before: Mapping[RunId, Decision], now: int
) -> dict[RunId, Decision]:
    """Ask one limiter for each run; return the decisions so far."""
    by_key: dict[LimiterKey, list[tuple[Run, Ask]]] = {}
    for run, ask in sorted(asking, key=lambda one: before[one[0].id].starts_at or now):
        by_key.setdefault(ask.key, []).append((run, ask))
    decided: dict[RunId, Decision] = {}

    def with_those(_: int, limiter: Limiter) -> Limiter:
        own = by_key[limiter.key]
        if must_read_holders(limiter, own):
            limiter = without_ended(limiter, read_named(context, limiter, now), now)
        for run, ask in own:
            earlier = before[run.id]
            limiter, passed = acquire(limiter, run, ask, earlier.starts_at or now, now, context.rules.lease_ms)
            decided[run.id] = _after(earlier, passed, ask)
        return limiter

    rows = read_or_insert(context.store.limiters, list(by_key), lambda key: new_limiter(key, context.shards), now)
    swapped = compare_and_swap(context.store.limiters.swap, rows, with_those, now)
    written = {row.key for row, one in zip(rows, swapped, strict=True) if one.done}
    names = sorted((str(run.id), run.attempt) for run, _ in asking)
    again_at = now + 1 + int(fraction_of("contended", *names, now) * _CONTENDED_MS)
    lost = {run.id: _asks_again(before[run.id], again_at) for run, ask in asking if ask.key not in written}
    return decided | lost


def _after(earlier: Decision, passed: LimiterDecision, ask: Ask) -> Decision:
    if passed.is_skipped:
        return Decision(ClaimAction.END, RunState.SKIPPED, Reason.LIMIT_FULL, slots=earlier.slots)
    slots = (*earlier.slots, ask.key.name) if passed.has_slot else earlier.slots
    if passed.waits_for is not None:
        return Decision(ClaimAction.LINE_UP, waiting=Waiting(ask.key.name, passed.waits_for), slots=slots)
    return Decision(ClaimAction.CLAIM, starts_at=passed.begins_at, slots=slots)


def _asks_again(earlier: Decision, at: int) -> Decision:
    return Decision(ClaimAction.WAIT, wait_until=at, slots=earlier.slots, keeps_slots=True)
