"""Which runs have an entry in the index of notable runs, and which become notable while they wait or run."""

from dataclasses import replace
from typing import Any

import pytest

from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.notable import is_notable, is_slow, noted, ordered_at
from timeball.domain.model.runs.run import Callback, Permit, Run, RunState, Waiting

AT = 1_800_000_000_000
SECOND = 1_000
PLAIN = Run(RunId(JobKey("acme", "job"), AT, Origin.SCHEDULE), RunState.QUEUED, 1, "normal", 0, AT, AT - 4_000)
CLAIMED: dict[str, Any] = {"state": RunState.RUNNING, "attempt": 1, "claimed_at": AT - 500}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, False),  # it was sent ahead of its instant
        (CLAIMED, False),  # it was claimed in time
        ({"state": RunState.SUCCEEDED, "finished_at": AT + 10 * SECOND}, False),
        ({"state": RunState.SUCCEEDED, "finished_at": AT + 10 * SECOND + 1}, True),  # it took longer, or began late
        ({"created_at": AT + 5 * SECOND}, True),  # it was late when it was made
        ({**CLAIMED, "claimed_at": AT + 5 * SECOND}, True),  # it began late
        ({"noted": True}, True),  # a watch saw that it was late
        ({**CLAIMED, "noted": True}, True),  # a renewal saw that its call lasts
        ({"reason": Reason.CIRCUIT_OPEN}, True),
        ({"waits": True}, True),
        ({"waiting": Waiting("db", Permit.SLOT)}, True),
        ({"attempt": 1}, True),  # another attempt follows
        ({"budget_at": AT}, True),  # a person retries it
        ({**CLAIMED, "attempt": 2}, True),
        ({**CLAIMED, "callback": Callback(AT, AT + 60 * SECOND)}, True),
        ({"state": RunState.RETRYING}, True),
        ({"state": RunState.WITHDRAWN}, True),
        ({"state": RunState.FAILED}, True),
        ({"state": RunState.SKIPPED}, True),
        ({"state": RunState.CANCELLED}, True),
    ],
)
def test_a_run_is_notable_unless_it_runs_at_once_and_soon_succeeds(fields: dict[str, Any], expected: bool) -> None:  # noqa: FBT001 - a column
    assert is_notable(replace(PLAIN, **fields)) is expected


@pytest.mark.parametrize(
    ("fields", "now", "expected"),
    [
        ({}, AT + 5 * SECOND - 1, False),
        ({}, AT + 5 * SECOND, True),
        ({"not_before": AT + 60 * SECOND}, AT + 10 * SECOND, False),  # its start is moved
        (CLAIMED, AT + 5 * SECOND - 1, False),  # the call leaves at its instant, not at the claim
        (CLAIMED, AT + 5 * SECOND, True),
        ({"noted": True}, AT + 60 * SECOND, False),  # its row says so
        ({"state": RunState.SUCCEEDED, "finished_at": AT + SECOND}, AT + 60 * SECOND, False),
    ],
)
def test_a_run_is_slow_some_seconds_after_its_start(fields: dict[str, Any], now: int, expected: bool) -> None:  # noqa: FBT001 - a column
    run = replace(PLAIN, **fields)
    assert is_slow(run, now) is expected
    assert not is_slow(noted(run), now)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, AT),  # when it may start
        (CLAIMED, AT),  # the claim does not move it
        ({**CLAIMED, "claimed_at": AT + 7}, AT + 7),
        ({**CLAIMED, "first_started_at": AT - 400}, AT - 400),
        ({"state": RunState.RETRYING, "first_started_at": AT + 20, "claimed_at": AT + 9_000}, AT + 20),
        ({"state": RunState.FAILED, "first_started_at": AT + 20, "finished_at": AT + 70}, AT + 70),
    ],
)
def test_a_run_is_ordered_by_its_end_or_else_by_its_start(fields: dict[str, Any], expected: int) -> None:
    assert ordered_at(replace(PLAIN, **fields)) == expected
