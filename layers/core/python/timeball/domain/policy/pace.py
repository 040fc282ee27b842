"""Which of a tenant's runs may begin now, where quotas bound how many begin in a second and are under way at once.

One row for each tenant that has such a quota, and for no other. What may be under way is no count: whoever finds the
row full reads the runs that it names, and drops those that are over. So nothing leaks, wherever somebody died.

Invariant: a run is named before its claim is written, until its row says that the attempt is over, or its lease.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import RunId, fraction_of
from timeball.domain.model.quotas import Quotas
from timeball.domain.model.reason import Reason
from timeball.domain.model.run import Run, RunState
from timeball.domain.policy.circuit_breaker import CALL, Admission
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS

LONGEST_LINE_MS: Final = 10 * MINUTE_MS
"""How far ahead turns are given: behind that one asks again, so that a change of a quota helps soon."""


@dataclass(frozen=True)
class Line:
    """Turns, so many in a second: the last second of which some were given (ms), how many, and how many of that before.

    For a run is claimed up to a second ahead of its instant, and keeps nobody from a turn that is left until then.
    """

    second: int = 0
    given: int = 0
    before: int = 0


@dataclass(frozen=True)
class Begun:
    """An attempt that may be under way; before its claim is seen, until `until` (ms), when its lease would be out."""

    run: RunId
    attempt: int
    until: int


@dataclass(frozen=True)
class Pace:
    """The attempts of a tenant that may be under way, the turns to begin, and those to look for a place.

    `looked_at` is when those under way were read last, for nobody does that twice in a second. `asked` names those who
    asked last: two writes that give a turn each look alike otherwise, and a store would take one for the other.
    """

    tenant: str
    begins: Line = Line()
    looks: Line = Line()
    begun: tuple[Begun, ...] = ()
    looked_at: int = 0
    asked: str = ""
    revision: int = 1


def asked_by(runs: Sequence[Run]) -> str:
    """Return what no others would be called that ask at once."""
    return f"{fraction_of('asked', *sorted((str(run.id), run.attempt) for run in runs)):.15f}"


def is_bound(quotas: Quotas) -> bool:
    """Say whether quotas hold runs back."""
    return bool(quotas.runs_per_second or quotas.runs_at_once)


def is_to_be_looked_at(pace: Pace, quotas: Quotas, coming: int, now: int) -> bool:
    """Say whether those that may be under way are to be read, as there is no place for all that come."""
    full = len(pace.begun) + coming > (quotas.runs_at_once or 0)
    return bool(quotas.runs_at_once) and full and bool(pace.begun) and now >= pace.looked_at + SECOND_MS


def looked_at(pace: Pace, rows: Mapping[RunId, Run | None], now: int) -> Pace:
    """Return the row without those that are over, as their rows say."""
    return evolve(
        pace, begun=tuple(one for one in pace.begun if is_under_way(one, rows.get(one.run), now)), looked_at=now
    )


def is_under_way(begun: Begun, row: Run | None, now: int) -> bool:
    """Say whether an attempt, or a later one of its run, may be under way: its claim may not be written yet."""
    if row is None or row.attempt < begun.attempt:
        return row is not None and now < begun.until
    return row.state is RunState.RUNNING and now < (row.lease_until or 0)


def admit(pace: Pace, run: Run, quotas: Quotas, now: int, lease_ms: int) -> tuple[Pace, Admission]:
    """Decide whether a run that is about to be claimed may begin, at its instant or now if that is past.

    Returns the row as that leaves it.
    """
    at = max(now, run.not_before)
    others = [one for one in pace.begun if one.run != run.id]
    if quotas.runs_at_once and len(others) >= quotas.runs_at_once:
        looks, turn_at = _next(pace.looks, at + SECOND_MS, quotas.runs_at_once)
        waits = Admission(turn_at, Reason.QUOTA_WAIT)
        return (evolve(pace, looks=looks), waits) if _is_near(turn_at, at) else (pace, _much_later(run, at))
    if quotas.runs_per_second and not _has_turn(run, at):
        begins, turn_at = _next(pace.begins, at, quotas.runs_per_second)
        if not _is_near(turn_at, at):
            return pace, _much_later(run, at)
        pace = evolve(pace, begins=begins)
        if turn_at > at:
            return pace, Admission(turn_at, Reason.QUOTA_TURN)
    if quotas.runs_at_once:
        pace = evolve(pace, begun=(*others, Begun(run.id, run.attempt + 1, now + lease_ms)))
    return pace, CALL


def given_in(line: Line, second: int, per_second: int) -> int:
    """Return how many turns of a second were given: all of one long before the last, where nobody gets one."""
    if second > line.second:
        return 0
    if second == line.second:
        return line.given
    return line.before if second == line.second - SECOND_MS else per_second


def under_way(pace: Pace, rows: Sequence[Run | None], now: int) -> int:
    """Count what may be under way, given the rows of the runs that are named, in their order."""
    return sum(is_under_way(one, row, now) for one, row in zip(pace.begun, rows, strict=True))


def _next(line: Line, at: int, per_second: int) -> tuple[Line, int]:
    """Return the line with one turn more, and the instant of that: `at`, or the first second that has one left."""
    second = at - at % SECOND_MS
    if second > line.second:
        return Line(second, 1, given_in(line, second - SECOND_MS, per_second)), at
    if second == line.second - SECOND_MS and line.before < per_second:
        return evolve(line, before=line.before + 1), at
    if line.given < per_second:
        return evolve(line, given=line.given + 1), max(at, line.second)
    return Line(line.second + SECOND_MS, 1, line.given), max(at, line.second + SECOND_MS)


def _has_turn(run: Run, at: int) -> bool:
    """Say whether a run has its turn, and is in time for it."""
    return run.reason is Reason.QUOTA_TURN and at < run.not_before + SECOND_MS


def _is_near(turn_at: int, at: int) -> bool:
    return turn_at <= at + LONGEST_LINE_MS


def _much_later(run: Run, at: int) -> Admission:
    """Let a run ask again when the line has moved, not all of them at once."""
    spread_ms = int(fraction_of("pace", run.id.job.tenant, run.id, at) * LONGEST_LINE_MS)
    return Admission(at + LONGEST_LINE_MS + spread_ms, Reason.QUOTA_WAIT)
