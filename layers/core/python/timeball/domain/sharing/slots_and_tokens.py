"""A limiter bounds how many runs are under way at once, and how fast they begin: for a limit, or for a whole tenant.

There is one row for each limit that jobs name, and for each tenant with such quotas; all other runs ask no limiter. The
row does not count the runs under way: it names them. A process that finds the row full reads these runs, and drops
those that have ended. So nothing leaks, wherever a process died. A rate token is an instant, taken at the claim; the
run is held until then.

A run that gets no slot, or no token soon, waits in a line, by priority and fire time, until the limiter admits it.
While a run may wait there the row is due, so the scan admits it if no other process has.

Invariant: a run is named before its claim is written, until its row says that the run needs its slot no more. No lease
and no clock frees a slot: a suspended executor may continue, and the next one takes the run over in its slot.

Order: every run asks for its job's overlap lock, then for its resource, then for the slot of its limit, the token of
its limit, the slot and the token of its tenant. While it waits for one of these it keeps what comes before. But while
it waits for its resource or its lock, or for a time, it keeps no slot. So no two runs wait for each other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.limiter import Begun, Bounds, Limiter, RateTokens
from timeball.domain.model.runs.run import Permit, Run, RunState, Waiting
from timeball.domain.sharing.stated_limits import Ask, stated
from timeball.domain.time.instants import SECOND_MS

LONGEST_HOLD_MS: Final = 2 * SECOND_MS
"""How far ahead of its instant a rate token is taken: the run is claimed, and held until then."""

ADMITTED_AHEAD_MS: Final = 2_500
"""How far ahead of their rate tokens runs are admitted: until the next scan, plus the time of delivery."""

ADMITTED_AT_ONCE: Final = 100
"""The most runs that are admitted at once."""

SETTLES_MS: Final = 10 * SECOND_MS
"""How long a run that has just joined a line may be missing there: its row is about to be written, or the index
lags."""

RECHECK_EVERY_MS: Final = 15 * SECOND_MS
"""How often a full limiter with waiting runs is rechecked: the process of a holder may have died."""


@dataclass(frozen=True)
class LimiterDecision:
    """The answer of a limiter to a run."""

    begins_at: int = 0
    """When the run may begin (ms); only if it neither waits nor is skipped."""
    has_slot: bool = False
    """The run has a slot."""
    waits_for: Permit | None = None
    """What the run waits for; None: nothing."""
    is_skipped: bool = False
    """The run is skipped."""


def waits_because(waiting: Waiting) -> Reason:
    """Return why a run waits in a line."""
    if not waiting.name:
        return Reason.QUOTA_WAIT
    return Reason.LIMIT_WAIT if waiting.permit is Permit.SLOT else Reason.RATE_WAIT


def must_read_holders(limiter: Limiter, asking: Sequence[tuple[Run, Ask]]) -> bool:
    """Say whether the runs that hold slots must be read: there are too few slots for the runs that ask, but no line."""
    named = {one.run for one in limiter.begun}
    coming = [ask for run, ask in asking if ask.bounds.slots is not None and run.id not in named]
    if not coming or not limiter.begun or Permit.SLOT in limiter.lines:
        return False
    least = min(limiter.fixed.bounds.over(ask.bounds).slots or 0 for ask in coming)
    return len(limiter.begun) + len(coming) > least


def without_ended(limiter: Limiter, rows: Mapping[RunId, Run | None], now: int) -> Limiter:
    """Return the limiter without runs that no longer need their slots, according to the rows that are given."""
    kept = (one for one in limiter.begun if one.run not in rows or has_slot(limiter, one, rows[one.run], now))
    return evolve(limiter, begun=tuple(kept))


def has_slot(limiter: Limiter, begun: Begun, row: Run | None, now: int) -> bool:
    """Say whether a named run holds its slot, given its row.

    A running run holds it, whether or not its lease has expired. A run whose row is unchanged since it was named may be
    about to be claimed. If its row has changed since, the run continues in another way and asks again. But while it
    waits in the line of another limiter it keeps its slot, and so it does for a while after it was admitted for that
    slot. A row from before the run was named proves nothing, whatever its state: a suspended process may have read it,
    and the run has been retried meanwhile.
    """
    if row is None:
        return False
    if row.revision <= begun.revision or (row.state is RunState.RUNNING and limiter.key.name in row.slots):
        return True
    if row.is_terminal or row.state is RunState.WITHDRAWN or row.waiting is None:
        return False
    is_elsewhere = (row.waiting.name, row.waiting.permit) != (limiter.key.name, Permit.SLOT)
    return limiter.key.name in row.slots if is_elsewhere else now < begun.until


def is_overdue(begun: Begun, row: Run | None, now: int) -> bool:
    """Say whether a named run should have been claimed long ago: its row is unchanged since."""
    return row is not None and not row.is_terminal and row.revision <= begun.revision and now >= begun.until


def not_admitted(limiter: Limiter, rows: Mapping[RunId, Run | None], now: int, lease_ms: int) -> list[Run]:
    """Return the runs that were named more than a second ago and were not sent: their rows are still in the line."""
    found = (rows.get(one.run) for one in limiter.begun if now >= one.until - 2 * lease_ms + SECOND_MS)
    mine = Waiting(limiter.key.name, Permit.SLOT)
    return [run for run in found if run is not None and run.waiting == mine]


def slots_of(run: Run) -> set[str]:
    """Return the names of the limiters in which a run may have a slot."""
    admitted_for = () if run.waiting is None or run.waiting.permit is Permit.TOKEN else (run.waiting.name,)
    return {*run.slots, *admitted_for}


def slots_needed(run: Run) -> set[str]:
    """Return the same, but nothing for a run that is neither under way nor in a line."""
    return slots_of(run) if run.state is RunState.RUNNING or run.waiting is not None else set()


def acquire(limiter: Limiter, run: Run, ask: Ask, at: int, now: int, lease_ms: int) -> tuple[Limiter, LimiterDecision]:
    """Decide whether a run that is about to be claimed may begin at an instant (ms), `now` or later.

    Also returns the limiter after the decision. A named run keeps its slot; no other run overtakes the runs in a line.
    """
    limiter, has_slot = stated(limiter, ask.bounds, now), ask.bounds.slots is not None
    if has_slot:
        others = tuple(one for one in limiter.begun if one.run != run.id)
        is_named = len(others) < len(limiter.begun)
        if not is_named and _is_full(limiter, ask):
            if ask.skips and run.is_unstarted:
                return limiter, LimiterDecision(is_skipped=True)
            return _joined(limiter, Permit.SLOT, now), LimiterDecision(waits_for=Permit.SLOT)
        until = max([now + lease_ms, *(one.until for one in limiter.begun if one.run == run.id)])
        limiter = evolve(limiter, begun=(*others, Begun(run.id, run.attempt + 1, until, run.revision)))
    if ask.bounds.per_second is None or limiter.bounds.per_second is None:
        return limiter, LimiterDecision(at, has_slot=has_slot)
    return _with_token(limiter, run, at, now, has_slot=has_slot)


def _with_token(limiter: Limiter, run: Run, at: int, now: int, *, has_slot: bool) -> tuple[Limiter, LimiterDecision]:
    """Take a rate token for a run, or let it wait in line if there is none soon."""
    begins_at, tokens = _next_token(limiter.tokens, limiter.bounds, at)
    if begins_at > at + LONGEST_HOLD_MS or _is_behind(limiter, run):
        return _joined(limiter, Permit.TOKEN, now), LimiterDecision(waits_for=Permit.TOKEN, has_slot=has_slot)
    return evolve(limiter, tokens=tokens), LimiterDecision(begins_at, has_slot=has_slot)


def _is_full(limiter: Limiter, ask: Ask) -> bool:
    """Say whether a new run gets no slot: others wait for one, or all are taken. Each job states its own bound."""
    most = limiter.fixed.bounds.over(ask.bounds).slots or 0
    return Permit.SLOT in limiter.lines or len(limiter.begun) >= most


def room_for(limiter: Limiter, permit: Permit, now: int) -> int:
    """Return how many runs in a line may be admitted now."""
    bounds = limiter.bounds
    if permit is Permit.SLOT:
        return ADMITTED_AT_ONCE if bounds.slots is None else min(ADMITTED_AT_ONCE, bounds.slots - len(limiter.begun))
    if bounds.per_second is None:
        return ADMITTED_AT_ONCE
    ahead_ms = now + ADMITTED_AHEAD_MS - _admitted_from(limiter, now)
    return max(0, min(ADMITTED_AT_ONCE, 1 + int(ahead_ms * bounds.per_second / SECOND_MS))) if ahead_ms >= 0 else 0


def admitted(
    limiter: Limiter, permit: Permit, runs: Sequence[Run], now: int, lease_ms: int
) -> tuple[Limiter, list[int]]:
    """Return the limiter with the first runs of a line admitted, and when each may begin (ms).

    An admitted run's slot is reserved for two leases, until its row says that it holds the slot or needs it no more.
    """
    if permit is Permit.SLOT and limiter.bounds.slots is None:
        return limiter, [now] * len(runs)
    if permit is Permit.SLOT:
        named = tuple(Begun(run.id, run.attempt + 1, now + 2 * lease_ms, run.revision) for run in runs)
        return evolve(limiter, begun=(*limiter.begun, *named)), [now] * len(runs)
    per_second, first_at = limiter.bounds.per_second, _admitted_from(limiter, now)
    apart_ms = 0 if per_second is None else SECOND_MS / per_second
    admitted_to = first_at + apart_ms * len(runs)
    return evolve(limiter, tokens=evolve(limiter.tokens, admitted_to=admitted_to)), [
        int(first_at + apart_ms * number) for number in range(len(runs))
    ]


def expected(limiter: Limiter, now: int) -> Limiter:
    """Return the limiter with a run in a line that may not be listed there yet: due now, and for a while after."""
    return evolve(limiter, joined_at=max(now, limiter.joined_at), due_at=now)


def left_in_line(limiter: Limiter, left: Sequence[Permit], now: int, *, some_admitted: bool) -> Limiter:
    """Return the limiter with runs left in these lines: due again while there are any, or may be ones not listed yet.

    It is due once more after an admission, because a run whose message was lost is still in the line.
    """
    is_settling = now < limiter.joined_at + SETTLES_MS
    due_at = None
    if left or some_admitted or is_settling:
        due_at = now + (SECOND_MS if Permit.TOKEN in left or is_settling else RECHECK_EVERY_MS)
    return evolve(limiter, lines=tuple(left), due_at=due_at)


def tokens_taken(limiter: Limiter, now: int) -> int:
    """Return how many rate tokens of the current second are taken, if the limiter bounds the rate."""
    per_second = limiter.bounds.per_second
    if per_second is None:
        return 0
    taken = round((limiter.tokens.free_at - now // SECOND_MS * SECOND_MS) * per_second / SECOND_MS)
    return max(0, min(int(per_second), taken))


def under_way(limiter: Limiter, rows: Sequence[Run | None], now: int) -> int:
    """Count the runs that may be under way, given the rows of the named runs in their order."""
    return sum(has_slot(limiter, one, row, now) for one, row in zip(limiter.begun, rows, strict=True))


def _is_behind(limiter: Limiter, run: Run) -> bool:
    """Say whether runs wait in line for rate tokens, and the run was not admitted from that line.

    A run whose row does not say so yet asks again, and is admitted again: otherwise a second message could overtake.
    """
    return Permit.TOKEN in limiter.lines and run.waiting != Waiting(limiter.key.name, Permit.TOKEN, admitted=True)


def _joined(limiter: Limiter, permit: Permit, now: int) -> Limiter:
    """Return the limiter with a run in a line: it is rechecked soon, for a holder may just have ended unseen."""
    soon_at = now if permit is Permit.TOKEN else now + SECOND_MS
    due_at = soon_at if limiter.due_at is None else min(limiter.due_at, soon_at)
    lines = tuple(one for one in Permit if one is permit or one in limiter.lines)
    return evolve(limiter, lines=lines, joined_at=max(now, limiter.joined_at), due_at=due_at)


def _next_token(tokens: RateTokens, bounds: Bounds, at: int) -> tuple[int, RateTokens]:
    """Return the first rate token from an instant on, and the state after it (a token bucket, as one instant)."""
    apart_ms = SECOND_MS / (bounds.per_second or 1)
    begins_at = ceil(max(at, tokens.free_at - apart_ms * ((bounds.burst or 1) - 1)))
    return begins_at, evolve(tokens, free_at=max(at, tokens.free_at) + apart_ms)


def _admitted_from(limiter: Limiter, now: int) -> float:
    bounds = limiter.bounds
    apart_ms = SECOND_MS / (bounds.per_second or 1)
    return max(float(now), limiter.tokens.admitted_to, limiter.tokens.free_at - apart_ms * ((bounds.burst or 1) - 1))
