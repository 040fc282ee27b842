"""What a run in the due index needs when its time has come: the whole table."""

import pytest

from timeball.domain.attempts.due import DueAction, classify
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.runs.run import TERMINAL, Callback, Run, RunState
from timeball.domain.model.runs.values import FanOut
from timeball.domain.time.instants import SECOND_MS, parse_instant

NOW = parse_instant("2026-11-21T09:30:00Z")
MARGIN_MS = 5 * SECOND_MS
RUN_ID = RunId(JobKey("acme", "job"), NOW, Origin.SCHEDULE)
FAN = FanOut(RUN_ID, count=3)


def _run(state: RunState) -> Run:
    return Run(RUN_ID, state, 1, "normal", 0, NOW, NOW, due_at=NOW)


def _leased(until: int, due_at: int = NOW) -> Run:
    return evolve(_run(RunState.RUNNING), attempt=1, lease_until=until, due_at=due_at)


def _handed_over(until: int, execution: str | None = None) -> Run:
    return evolve(_leased(until), callback=Callback(NOW - 60_000, NOW + 60_000, execution=execution))


CASES = {
    "it was triggered": (_run(RunState.QUEUED), DueAction.SEND),
    "its retry is due": (_run(RunState.RETRYING), DueAction.SEND),
    "it waits for its parents": (evolve(_run(RunState.QUEUED), waits=True), DueAction.EVALUATE),
    "its parents let it run, and then it failed": (evolve(_run(RunState.RETRYING), waits=True), DueAction.SEND),
    "a pause took it back": (_run(RunState.WITHDRAWN), DueAction.DROP),
    "its executor vanished": (_leased(NOW - MARGIN_MS), DueAction.SEND),
    "its executor may live by some clock": (_leased(NOW - MARGIN_MS + 1), DueAction.DELAY),
    "its executor has renewed the lease": (_leased(NOW + 30_000), DueAction.DELAY),
    "it is due when its lease has expired": (_leased(NOW + 30_000, NOW + 30_000 + MARGIN_MS), DueAction.KEEP),
    "its target did not report": (_handed_over(NOW - MARGIN_MS), DueAction.REAP),
    "its target may report by some clock": (_handed_over(NOW - MARGIN_MS + 1), DueAction.DELAY),
    "its target has sent a heartbeat": (_handed_over(NOW + 30_000), DueAction.DELAY),
    "its execution must be polled": (_handed_over(NOW - MARGIN_MS, "arn"), DueAction.FOLLOW),
    "its execution was polled lately": (_handed_over(NOW + 10_000, "arn"), DueAction.DELAY),
    "its items are about to begin": (evolve(_run(RunState.QUEUED), fan=FAN), DueAction.STEP),
    "its items wait for parents": (evolve(_run(RunState.QUEUED), fan=FAN, waits=True), DueAction.STEP),
    "its items are under way": (evolve(_run(RunState.RUNNING), fan=FAN), DueAction.STEP),
    "a pause took it back with its items": (evolve(_run(RunState.WITHDRAWN), fan=FAN), DueAction.STEP),
    "its items failed, and some may have succeeded since": (evolve(_run(RunState.FAILED), fan=FAN), DueAction.STEP),
    "its items succeeded": (evolve(_run(RunState.SUCCEEDED), fan=FAN), DueAction.FINISH),
    "its items were cancelled": (evolve(_run(RunState.CANCELLED), fan=FAN), DueAction.FINISH),
}


@pytest.mark.parametrize("case", CASES)
def test_a_due_run_gets_what_its_row_needs(case: str) -> None:
    run, action = CASES[case]
    assert classify(run, NOW, MARGIN_MS) is action


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_an_end_is_finished_whatever_the_run_once_waited_for(state: RunState) -> None:
    assert classify(evolve(_run(state), waits=True, lease_until=NOW - 60_000), NOW, MARGIN_MS) is DueAction.FINISH
