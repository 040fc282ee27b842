"""The health of the resource that a target calls, and whether a run may call it now: circuit breaker and token bucket.

A resource is what a target calls. For webhooks it is an origin, which has a circuit,
with one more circuit for each first segment of its paths. A failure to connect counts for the origin; a later failure
counts for the segment, so a slow path affects no other path. Three open segments open their origin.

A circuit *opens* after several failures in a row: nothing calls its resource for a while. Then it is *half-open*: one
run tries. A resource that has failed lately is *paced*: a retry, or a run that waited for it, needs a token. First
calls of a healthy resource need none. Each tenant has rows of its own, so no tenant's failures defer another's runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import fraction_of
from timeball.domain.model.reason import WAITS_IN_LINE, Reason
from timeball.domain.model.runs.run import Run
from timeball.domain.time.instants import SECOND_MS

MOST_SEGMENTS: Final = 20
"""How many failing segments the row of a resource keeps, so that the row stays small whatever is called."""


@dataclass(frozen=True, order=True)
class CircuitKey:
    """The name of a resource."""

    tenant: str
    """The tenant whose jobs call it."""
    resource: str
    """The resource: for webhooks an origin, for AWS an ARN."""


@dataclass(frozen=True)
class CircuitRules:
    """The rules of circuits and of paced retries."""

    failures: int = 5
    """A circuit opens after this many failures in a row."""
    open_segments: int = 3
    """So many open segments open their origin."""
    open_ms: int = 30 * SECOND_MS
    """How long a circuit stays open the first time."""
    longest_open_ms: int = 600 * SECOND_MS
    """How long a circuit stays open at most."""
    trial_ms: int = 60 * SECOND_MS
    """How long one run's trial keeps other runs away."""
    ask_ms: int = 10 * SECOND_MS
    """How soon those runs ask again."""
    retries_per_second: int = 10
    """How many runs a paced resource gets in a second."""
    burst: int = 20
    """How many of them it gets at once."""


@dataclass(frozen=True)
class Segment:
    """The circuit of one first path segment. The origin's row keeps it while the segment's last call failed."""

    name: str
    """The segment."""
    failures: int = 0
    """Failures in a row."""
    openings: int = 0
    """How often in a row the circuit opened."""
    open_until: int | None = None
    """Until when the circuit is open (ms); None: it is closed."""
    is_half_open: bool = False
    """One run tries the segment, and must have its answer by `open_until`."""


@dataclass(frozen=True)
class Circuit:
    """One row. A resource has one only if it has failed lately."""

    key: CircuitKey
    """The tenant and the resource."""
    failures: int = 0
    """Failures in a row."""
    openings: int = 0
    """How often in a row the circuit opened."""
    open_until: int | None = None
    """Until when the circuit is open (ms); None: it is closed."""
    is_half_open: bool = False
    """One run tries the resource, and must have its answer by `open_until`."""
    refilled_at: int = 0
    """The token bucket as one instant: when it will be full again (ms)."""
    segments: tuple[Segment, ...] = ()
    """The segments that failed last, the latest at the end."""
    revision: int = 1
    """Counts the writes of the row."""


_AnyCircuit = TypeVar("_AnyCircuit", Circuit, Segment)


@dataclass(frozen=True)
class Observation:
    """The finding of an answer."""

    is_down: bool
    """The resource, or its segment, failed."""
    segment: str | None = None
    """The segment that was called; None: the finding is about the resource as a whole."""


@dataclass(frozen=True)
class Admission:
    """Whether a run may call now."""

    until: int | None = None
    """When it may ask again (ms); None: it may call now."""
    reason: Reason | None = None
    """Why it must wait; None: it may call now."""


CALL = Admission()

_HAVE_PASSED = frozenset({Reason.HOST_PACED, *WAITS_IN_LINE})
"""The reasons of waiting runs that have their token: concurrency, rate and quota limits are asked last. Otherwise
each claim of such a run would take another token."""


def check(
    row: Circuit, run: Run, now: int, rules: CircuitRules, segment: str | None = None
) -> tuple[Circuit, Admission]:
    """Decide whether a run that is about to be claimed may call its resource, at its instant or now if that has passed.

    `segment` is the first segment of its path. Also returns the row after the decision, the same one if nothing
    changes.
    """
    at = max(now, run.not_before)
    circuits: tuple[Circuit | Segment, ...] = (row, *(one for one in row.segments if one.name == segment))
    for circuit in circuits:
        if circuit.open_until is not None and at < circuit.open_until:
            return row, _deferred(circuit, run, at, rules)
    if any(circuit.open_until is not None for circuit in circuits):
        return _tried(row, segment, at + rules.trial_ms), CALL
    if run.reason in _HAVE_PASSED or (run.attempt == 0 and run.reason is not Reason.CIRCUIT_OPEN):
        return row, CALL  # it has its token, or needs none
    interval_ms = SECOND_MS // rules.retries_per_second
    after = evolve(row, refilled_at=max(row.refilled_at, at) + interval_ms)
    start_at = after.refilled_at - rules.burst * interval_ms
    return after, CALL if start_at <= at else Admission(start_at, Reason.HOST_PACED)


def _deferred(circuit: Circuit | Segment, run: Run, at: int, rules: CircuitRules) -> Admission:
    """Return when a run may ask again: runs are spread over the time that the circuit stays open."""
    over_at = at + rules.ask_ms if circuit.is_half_open else circuit.open_until or at
    spread_ms = int(fraction_of("rest", run.id.job.tenant, run.id, circuit.openings) * open_ms_of(circuit, rules))
    return Admission(over_at + spread_ms, Reason.CIRCUIT_OPEN)


def _tried(row: Circuit, segment: str | None, until: int) -> Circuit:
    """Return the row while one run tries what is no longer open: the resource, its segment, or both."""
    segments = tuple(_half_open(one, until) if one.name == segment else one for one in row.segments)
    return _half_open(evolve(row, segments=segments), until)


def _half_open(circuit: _AnyCircuit, until: int) -> _AnyCircuit:
    return circuit if circuit.open_until is None else evolve(circuit, open_until=until, is_half_open=True)


def open_ms_of(circuit: Circuit | Segment, rules: CircuitRules) -> int:
    """Return how long a circuit stays open after so many openings in a row."""
    return min(rules.open_ms << max(circuit.openings - 1, 0), rules.longest_open_ms)


def after_answers(row: Circuit, observed: Sequence[Observation], now: int, rules: CircuitRules) -> Circuit:
    """Return the row of a resource after answers, in the order in which they came; the same one if nothing changes."""
    for one in observed:
        if not one.is_down:
            others = tuple(segment for segment in row.segments if segment.name != one.segment)
            row = evolve(_closed(row), segments=others)
        elif not _is_open(row, now):  # otherwise the call had left before the circuit opened
            row = _failed_once(row, now, rules) if one.segment is None else _failed_on(row, one.segment, now, rules)
    return row


def _failed_on(row: Circuit, name: str, now: int, rules: CircuitRules) -> Circuit:
    """Return the row after a failure on a segment.

    If more segments fail than the row has room for, each segment that is dropped counts as a failure of the resource. A
    resource that was tried and accepted the connection is not blamed for one segment, unless other segments fail too.
    """
    before = next((one for one in row.segments if one.name == name), Segment(name))
    if _is_open(before, now):
        return row
    others = [one for one in row.segments if one.name != name]
    if len(others) >= MOST_SEGMENTS:
        others.remove(_least_open(others, now))
        row = _failed_once(row, now, rules)
    row = evolve(row, segments=(*others, _failed_once(before, now, rules)))
    if row.open_until is None:
        return _opened(row, now, rules) if _open_segments(row, now) >= rules.open_segments else row
    if _is_open(row, now):
        return row
    return _opened(row, now, rules) if len(row.segments) >= rules.open_segments else _closed(row)


def _least_open(segments: Sequence[Segment], now: int) -> Segment:
    """Return the oldest segment that is not open; the newest segment if all are open."""
    return next((one for one in segments if not _is_open(one, now)), segments[-1])


def _open_segments(row: Circuit, now: int) -> int:
    """Count the open segments, also those that a run tries."""
    return sum(one.open_until is not None and now < one.open_until for one in row.segments)


def _failed_once(circuit: _AnyCircuit, now: int, rules: CircuitRules) -> _AnyCircuit:
    failed = evolve(circuit, failures=circuit.failures + 1)
    return failed if failed.failures < rules.failures and circuit.open_until is None else _opened(failed, now, rules)


def _opened(circuit: _AnyCircuit, now: int, rules: CircuitRules) -> _AnyCircuit:
    opened = evolve(circuit, openings=circuit.openings + 1, is_half_open=False)
    return evolve(opened, open_until=now + open_ms_of(opened, rules))


def _closed(circuit: _AnyCircuit) -> _AnyCircuit:
    return evolve(circuit, failures=0, openings=0, open_until=None, is_half_open=False)


def _is_open(circuit: Circuit | Segment, now: int) -> bool:
    """Say whether all calls are deferred, without a trial under way."""
    return circuit.open_until is not None and now < circuit.open_until and not circuit.is_half_open
