"""The scenario of the demo and the end-to-end tests: a burst in one second, an interval, a cron, and more.

Invariant: the due instants are computed from the API's answers before anything fires, and all created jobs have ended
or are cancelled when the scenario ends, however it ends.
"""

import contextlib
import http.client
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from local.demo_client import ApiClient, UnexpectedAnswerError
from local.demo_ledger import Ledger, disagreements, earliest_retries, read_ledger
from local.demo_tally import DemoTally, Due, early_retries, tally
from local.receiver import ReceivedRequest, Receiver
from timeball.domain.time.instants import SECOND_MS, format_instant, parse_instant

BURST, EVERY, CRON, NOW, RETRYING = "50 in one second", "every 2 s", "cron", "now", "fails twice"

_BURST_JOBS = 50
_BURST_AFTER_MS = 15 * SECOND_MS
_EVERY_AFTER_MS = 6 * SECOND_MS
_EVERY_FOR_MS = 30 * SECOND_MS
_LOST_AFTER_MS = 30 * SECOND_MS
_LEDGER_WITHIN_MS = 30 * SECOND_MS
_QUIET_MS = 3 * SECOND_MS
_LOOK_EVERY_SECONDS = 0.2


@dataclass(frozen=True)
class Group:
    """Jobs of one kind, as the API answered them, and the instants at which they are due."""

    name: str
    jobs: tuple[Any, ...]
    due: tuple[Due, ...]

    def due_by(self, at: int) -> list[Due]:
        """Return the due instants up to an instant (ms, included)."""
        return [instant for instant in self.due if instant.fire_at <= at]


@dataclass(frozen=True)
class Progress:
    """The progress of the scenario: the instants (ms) of the burst and of the last fire, and each group's tally."""

    now: int
    burst_at: int
    until: int
    tallies: Mapping[str, DemoTally]

    @property
    def is_over(self) -> bool:
        """Return whether every run has arrived, or the wait for the rest is over."""
        complete = all(one.is_complete for one in self.tallies.values())
        return complete or self.now > self.until + _LOST_AFTER_MS


@dataclass(frozen=True)
class DemoOutcome:
    """The end of the scenario: the last progress, every arrival, the ledger and its disagreements."""

    progress: Progress
    arrivals: tuple[ReceivedRequest, ...]
    ledger: Ledger
    disagreements: tuple[str, ...]


Show = Callable[[Progress], None]


def run_scenario(client: ApiClient, receiver: Receiver, show: Show, *, with_cron: bool) -> DemoOutcome:
    """Play the scenario to its end; call `show` several times a second.

    Raise `UnexpectedAnswerError` if the API refuses something, or answers so slowly that the burst cannot be created
    before it is due.
    """
    before_jobs = len(receiver.arrivals())
    base_at = (_now() // SECOND_MS + 1) * SECOND_MS
    burst_at = base_at + _BURST_AFTER_MS
    groups: list[Group] = []
    try:
        for name, requests in planned(receiver.url, base_at, with_cron=with_cron).items():
            # One by one, so that an interruption leaves no job uncancelled.
            groups.append(Group(name, (), ()))
            for request in requests:
                groups[-1] = _with(groups[-1], client.create(request))
            show(_progress(groups, receiver.arrivals(), burst_at))
        _refuse_lateness(burst_at)
        groups = _watched(groups, receiver, burst_at, show)
        _cancel_crons(client, groups)
        ledger = _settled_ledger(client, groups)
        _wait_for_quiet(receiver)
    except BaseException:
        _abandon(client, groups)
        raise
    arrivals = receiver.arrivals()[before_jobs:]
    progress = _progress(groups, arrivals, burst_at)
    early = early_retries(arrivals, earliest_retries(ledger))
    retrying = progress.tallies[RETRYING]
    tallies = {**progress.tallies, RETRYING: replace(retrying, early=retrying.early + early)}
    due = [instant for group in groups for instant in group.due]
    said_otherwise = tuple(disagreements(ledger, due, arrivals))
    return DemoOutcome(replace(progress, tallies=tallies), tuple(arrivals), ledger, said_otherwise)


def planned(url: str, base_at: int, *, with_cron: bool) -> dict[str, list[dict[str, object]]]:
    """Return the jobs to create, by group, for a target; all times count from a whole second (ms)."""
    ok = {"handler": f"{url}/ok"}
    every_at = base_at + _EVERY_AFTER_MS
    every = {
        "everySeconds": 2,
        "startAt": format_instant(every_at),
        "endAt": format_instant(every_at + _EVERY_FOR_MS),
    }
    retries = {"baseSeconds": 1, "maxSeconds": 3, "jitter": "none"}
    flaky: dict[str, object] = {"handler": f"{url}/flaky/2", "maxRetries": 5, "retryPolicy": retries}
    burst = {**ok, "scheduleAt": format_instant(base_at + _BURST_AFTER_MS)}
    jobs: dict[str, list[dict[str, object]]] = {
        NOW: [{**ok, "name": "Now"}],
        RETRYING: [{**flaky, "name": "Fails twice"}],
        EVERY: [{**ok, **every, "name": "Every 2 s"}],
        CRON: [{**ok, "cronExpression": "* * * * *", "name": "Every minute"}],
        BURST: [
            {**burst, "name": f"Burst {number}", "payload": {"number": number}} for number in range(1, _BURST_JOBS + 1)
        ],
    }
    return jobs if with_cron else {name: requests for name, requests in jobs.items() if name != CRON}


def due_of(job: Any) -> list[Due]:  # noqa: ANN401 - JSON is whatever it is
    """Return the due instants of a job from the answer to its creation; for a cron, its next five fire times."""
    if job["scheduleAt"] is not None:
        fires = [parse_instant(job["scheduleAt"])]
    elif job["everySeconds"] is not None:
        start_at, end_at = parse_instant(job["startAt"]), parse_instant(job["endAt"])
        fires = [*range(start_at, end_at + 1, job["everySeconds"] * SECOND_MS)]
    else:
        fires = [parse_instant(fire) for fire in job["nextRuns"]]
    return [Due(job["jobId"], fire) for fire in fires]


def _with(group: Group, job: Any) -> Group:  # noqa: ANN401 - JSON is whatever it is
    return replace(group, jobs=(*group.jobs, job), due=(*group.due, *due_of(job)))


def _progress(groups: Iterable[Group], arrivals: Iterable[ReceivedRequest], burst_at: int) -> Progress:
    """Tally each group. A cron never ends: count its first fire, and those before the other groups' end.

    Count also a fire within the next second, so that it does not race with the cron's cancellation.
    """
    now = _now()
    calls = [*arrivals]
    lasts = [group.due[0 if group.name == CRON else -1].fire_at for group in groups]
    until = max(lasts, default=now)
    tallies = {
        group.name: tally(group.due_by(max(until, now + SECOND_MS)), calls, now - _LOST_AFTER_MS) for group in groups
    }
    return Progress(now, burst_at, until, tallies)


def _refuse_lateness(burst_at: int) -> None:
    if _now() >= burst_at:
        raise UnexpectedAnswerError("this machine was too slow to create the burst before its fire time")


def _watched(groups: list[Group], receiver: Receiver, burst_at: int, show: Show) -> list[Group]:
    """Wait until all is over; return the groups without instants that are due only after that."""
    while True:
        progress = _progress(groups, receiver.arrivals(), burst_at)
        show(progress)
        if progress.is_over:
            end_at = max(progress.until, progress.now + SECOND_MS)
            return [replace(group, due=tuple(group.due_by(end_at))) for group in groups]
        time.sleep(_LOOK_EVERY_SECONDS)


def _settled_ledger(client: ApiClient, groups: Iterable[Group]) -> Ledger:
    jobs = [job for group in groups for job in group.jobs]
    ledger = read_ledger(client, jobs)
    give_up_at = _now() + _LEDGER_WITHIN_MS
    while not ledger.is_settled and _now() < give_up_at:
        time.sleep(_LOOK_EVERY_SECONDS)
        ledger = read_ledger(client, jobs, ledger)
    return ledger


def _wait_for_quiet(receiver: Receiver) -> None:
    """Wait until nothing has arrived for a while: a second call would come soon after the first."""
    while (arrivals := receiver.arrivals()) and _now() < arrivals[-1].at + _QUIET_MS:
        time.sleep(_LOOK_EVERY_SECONDS)


def _cancel_crons(client: ApiClient, groups: Iterable[Group]) -> None:
    for job in (job for group in groups if group.name == CRON for job in group.jobs):
        answer = client.cancel(job["jobId"])
        if answer.status != http.HTTPStatus.OK:
            raise UnexpectedAnswerError(f"cancelling a job was answered {answer.status}: {answer.text}")


def _abandon(client: ApiClient, groups: Iterable[Group]) -> None:
    # Ended jobs refuse the cancel; an API that is gone has nothing left to cancel.
    with contextlib.suppress(OSError, http.client.HTTPException):
        for job in (job for group in groups for job in group.jobs):
            client.cancel(job["jobId"])


def _now() -> int:
    return time.time_ns() // 1_000_000
