"""How the host of a target fares, and whether a run may call it now: circuit breakers and a token bucket.

A *host* is what is called: of webhooks an origin, which has a circuit, and one for each first segment of its paths. A
call that made no connection counts for the origin, a failure after that for the segment: a slow path holds no other
path back. Three open segments open their origin.

A circuit *opens* after several failures in a row: nothing calls what it guards for a while. Then it is *half-open*: one
run tries. A host that has failed lately is *paced*: a retry, or a run that waited for it, needs a token. First calls of
a host that answers need none. Each tenant has rows of its own: no tenant's failures defer the runs of another.
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
"""How many failing segments a host's row keeps: a row stays small, whatever is called."""


@dataclass(frozen=True, order=True)
class HostKey:
    """The name of a resource that a tenant's jobs call and that may be down: of webhooks the origin."""

    tenant: str
    host: str


@dataclass(frozen=True)
class HostRules:
    """After how many failures in a row a circuit opens, how long at first and at most, and how fast retries follow.

    `open_segments` is how many open segments open their host, `trial_ms` how long one run keeps others from what it
    tries, `ask_ms` how soon those ask again.
    """

    failures: int = 5
    open_segments: int = 3
    open_ms: int = 30 * SECOND_MS
    longest_open_ms: int = 600 * SECOND_MS
    trial_ms: int = 60 * SECOND_MS
    ask_ms: int = 10 * SECOND_MS
    retries_per_second: int = 10
    burst: int = 20


@dataclass(frozen=True)
class Segment:
    """The circuit of one first segment of paths, which a host's row keeps while the segment's last call failed."""

    name: str
    failures: int = 0
    openings: int = 0
    open_until: int | None = None
    is_half_open: bool = False


@dataclass(frozen=True)
class Host:
    """One row, which a host has only when it has failed lately.

    `failures` and `openings` in a row. `open_until` (ms) is set while the circuit is open; if it `is_half_open`, the
    run that tries the host must have its answer by then. `refilled_at` is the token bucket as one instant: when it will
    be full again. `segments` are those that failed last, the latest at the end.
    """

    key: HostKey
    failures: int = 0
    openings: int = 0
    open_until: int | None = None
    is_half_open: bool = False
    refilled_at: int = 0
    segments: tuple[Segment, ...] = ()
    revision: int = 1


_Circuit = TypeVar("_Circuit", Host, Segment)


@dataclass(frozen=True)
class Observation:
    """Whether an answer shows that a segment of the host is down, or without a segment the host as a whole."""

    is_down: bool
    segment: str | None = None


@dataclass(frozen=True)
class Admission:
    """Whether a run may call now (`until` None), or from when it may ask again, and why."""

    until: int | None = None
    reason: Reason | None = None


CALL = Admission()

_HAVE_PASSED = frozenset({Reason.HOST_PACED, *WAITS_IN_LINE})
"""Why a run waits that has its token: keys and quotas come last. Else each would spend what another had given."""


def admit(host: Host, run: Run, now: int, rules: HostRules, segment: str | None = None) -> tuple[Host, Admission]:
    """Decide whether a run that is about to be claimed may call its host, at its instant or now if that is past.

    `segment` is the first of its path. Returns the row as that leaves it, the same one if nothing changes.
    """
    at = max(now, run.not_before)
    circuits: tuple[Host | Segment, ...] = (host, *(one for one in host.segments if one.name == segment))
    for circuit in circuits:
        if circuit.open_until is not None and at < circuit.open_until:
            return host, _deferred(circuit, run, at, rules)
    if any(circuit.open_until is not None for circuit in circuits):
        return _tried(host, segment, at + rules.trial_ms), CALL
    if run.reason in _HAVE_PASSED or (run.attempt == 0 and run.reason is not Reason.CIRCUIT_OPEN):
        return host, CALL  # it has its token, or needs none
    interval_ms = SECOND_MS // rules.retries_per_second
    after = evolve(host, refilled_at=max(host.refilled_at, at) + interval_ms)
    start_at = after.refilled_at - rules.burst * interval_ms
    return after, CALL if start_at <= at else Admission(start_at, Reason.HOST_PACED)


def _deferred(circuit: Host | Segment, run: Run, at: int, rules: HostRules) -> Admission:
    """Return when a run asks again: spread over as long as the circuit is open, so that not all come at once."""
    over_at = at + rules.ask_ms if circuit.is_half_open else circuit.open_until or at
    spread_ms = int(fraction_of("rest", run.id.job.tenant, run.id, circuit.openings) * open_ms_of(circuit, rules))
    return Admission(over_at + spread_ms, Reason.CIRCUIT_OPEN)


def _tried(host: Host, segment: str | None, until: int) -> Host:
    """Return the row while one run tries what is no longer open: the host, its segment, or both."""
    segments = tuple(_half_open(one, until) if one.name == segment else one for one in host.segments)
    return _half_open(evolve(host, segments=segments), until)


def _half_open(circuit: _Circuit, until: int) -> _Circuit:
    return circuit if circuit.open_until is None else evolve(circuit, open_until=until, is_half_open=True)


def open_ms_of(circuit: Host | Segment, rules: HostRules) -> int:
    """Return how long a circuit stays open that has opened so often in a row."""
    return min(rules.open_ms << max(circuit.openings - 1, 0), rules.longest_open_ms)


def after_answers(host: Host, observed: Sequence[Observation], now: int, rules: HostRules) -> Host:
    """Return the host's row as answers leave it, in the order in which they came; the same one if nothing changes."""
    for one in observed:
        if not one.is_down:
            others = tuple(segment for segment in host.segments if segment.name != one.segment)
            host = evolve(_closed(host), segments=others)
        elif not _is_open(host, now):  # else it was on its way before the circuit opened
            host = _failed_once(host, now, rules) if one.segment is None else _failed_on(host, one.segment, now, rules)
    return host


def _failed_on(host: Host, name: str, now: int, rules: HostRules) -> Host:
    """Return the row after a failure on a segment.

    Where more segments fail than a row has room for, those that give way count for the host. A host that was tried and
    took the connection is not to blame for one segment, unless others fail too.
    """
    before = next((one for one in host.segments if one.name == name), Segment(name))
    others = [one for one in host.segments if one.name != name]
    if _is_open(before, now):
        return host
    if len(others) >= MOST_SEGMENTS:
        others.remove(next(one for one in others if not _is_open(one, now) or one is others[-1]))
        host = _failed_once(host, now, rules)
    host = evolve(host, segments=(*others, _failed_once(before, now, rules)))
    if host.open_until is not None and not _is_open(host, now):
        return _opened(host, now, rules) if len(host.segments) >= rules.open_segments else _closed(host)
    are_open = sum(one.open_until is not None and now < one.open_until for one in host.segments)
    return _opened(host, now, rules) if host.open_until is None and are_open >= rules.open_segments else host


def _failed_once(circuit: _Circuit, now: int, rules: HostRules) -> _Circuit:
    failed = evolve(circuit, failures=circuit.failures + 1)
    return failed if failed.failures < rules.failures and circuit.open_until is None else _opened(failed, now, rules)


def _opened(circuit: _Circuit, now: int, rules: HostRules) -> _Circuit:
    opened = evolve(circuit, openings=circuit.openings + 1, is_half_open=False)
    return evolve(opened, open_until=now + open_ms_of(opened, rules))


def _closed(circuit: _Circuit) -> _Circuit:
    return evolve(circuit, failures=0, openings=0, open_until=None, is_half_open=False)


def _is_open(circuit: Host | Segment, now: int) -> bool:
    """Say whether calls are kept away, and none of them tries."""
    return circuit.open_until is not None and now < circuit.open_until and not circuit.is_half_open
