"""How the host of a target fares, and whether a run may call it now: a circuit breaker and a token bucket.

A host that fails again and again in a row has an *open* circuit: nothing calls it for a while. Then the circuit is
*half-open*: one run tries the host. A host that has failed lately is *paced*: a retry, or a run that waited for it,
needs a token. First calls of a host that answers need none. Each tenant has rows of its own: nobody's failures defer
the runs of somebody else.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import fraction_of
from timeball.domain.model.reason import WAITS_IN_LINE, Reason
from timeball.domain.model.runs.run import Run
from timeball.domain.time.instants import SECOND_MS


@dataclass(frozen=True, order=True)
class HostKey:
    """What a tenant's jobs call and may be down: of webhooks a host, by the name that the target's adapter gives it."""

    tenant: str
    host: str


@dataclass(frozen=True)
class HostRules:
    """After how many failures in a row a circuit opens, how long at first and at most, and how fast retries follow.

    `trial_ms` is how long one run keeps others from a host that it tries, `ask_ms` how soon those ask again.
    """

    failures: int = 5
    open_ms: int = 30 * SECOND_MS
    longest_open_ms: int = 600 * SECOND_MS
    trial_ms: int = 60 * SECOND_MS
    ask_ms: int = 10 * SECOND_MS
    retries_per_second: int = 10
    burst: int = 20


@dataclass(frozen=True)
class Host:
    """One row, which a host has only when it has failed lately.

    `failures` and `openings` in a row. `open_until` (ms) is set while the circuit is open; if it `is_half_open`, the
    run that tries the host must have its answer by then. `refilled_at` is the token bucket as one instant: when it will
    be full again.
    """

    key: HostKey
    failures: int = 0
    openings: int = 0
    open_until: int | None = None
    is_half_open: bool = False
    refilled_at: int = 0
    revision: int = 1


@dataclass(frozen=True)
class Admission:
    """Whether a run may call now (`until` None), or from when it may ask again, and why."""

    until: int | None = None
    reason: Reason | None = None


CALL = Admission()

_HAVE_PASSED = frozenset({Reason.HOST_PACED, *WAITS_IN_LINE})
"""Why a run waits that has its token: keys and quotas come last. Else each would spend what another had given."""


def admit(host: Host, run: Run, now: int, rules: HostRules) -> tuple[Host, Admission]:
    """Decide whether a run that is about to be claimed may call its host, at its instant or now if that is past.

    Returns the row as that leaves it, the same one if nothing changes.
    """
    at = max(now, run.not_before)
    if host.open_until is not None and at < host.open_until:
        return host, _deferred(host, run, at, rules)
    if host.open_until is not None:
        return evolve(host, open_until=at + rules.trial_ms, is_half_open=True), CALL
    if run.reason in _HAVE_PASSED or (run.attempt == 0 and run.reason is not Reason.CIRCUIT_OPEN):
        return host, CALL  # it has its token, or needs none
    interval_ms = SECOND_MS // rules.retries_per_second
    after = evolve(host, refilled_at=max(host.refilled_at, at) + interval_ms)
    start_at = after.refilled_at - rules.burst * interval_ms
    return after, CALL if start_at <= at else Admission(start_at, Reason.HOST_PACED)


def _deferred(host: Host, run: Run, at: int, rules: HostRules) -> Admission:
    """Return when a run asks again: spread over as long as the circuit is open, so that not all come at once."""
    over_at = at + rules.ask_ms if host.is_half_open else host.open_until or at
    spread_ms = int(fraction_of("rest", run.id.job.tenant, run.id, host.openings) * open_ms_of(host, rules))
    return Admission(over_at + spread_ms, Reason.CIRCUIT_OPEN)


def open_ms_of(host: Host, rules: HostRules) -> int:
    """Return how long the circuit stays open that has opened so often in a row."""
    return min(rules.open_ms << max(host.openings - 1, 0), rules.longest_open_ms)


def after_answers(host: Host, failed: Sequence[bool], now: int, rules: HostRules) -> Host:
    """Return the host's row as answers leave it, in the order in which they came; the same one if nothing changes."""
    for one in failed:
        if not one:
            host = evolve(host, failures=0, openings=0, open_until=None, is_half_open=False)
        elif host.open_until is None or host.is_half_open or now >= host.open_until:
            host = _failed_once(host, now, rules)  # else it was on its way before the circuit opened
    return host


def _failed_once(host: Host, now: int, rules: HostRules) -> Host:
    failures = host.failures + 1
    if failures < rules.failures:
        return evolve(host, failures=failures)
    opened = evolve(host, failures=failures, openings=host.openings + 1, is_half_open=False)
    return evolve(opened, open_until=now + open_ms_of(opened, rules))
