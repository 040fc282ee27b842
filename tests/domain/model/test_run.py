"""The moves of a run: legal moves are made, every other one is refused."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest

from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import LIVE, MOVES, TERMINAL, Run, RunState
from timeball.domain.model.runs.transitions import (
    IllegalMoveError,
    asked_to_stop,
    claimed,
    due_again,
    ended,
    renewed,
    requeued,
    retrying,
)
from timeball.domain.model.runs.values import Attempt, Guarantor, Outcome

FAILED = Attempt(1, Outcome.FAILED, 10, 20, 30, 500)


def run(state: RunState) -> Run:
    return Run(RunId(JobKey("acme", "job"), 5, Origin.SCHEDULE), state, 1, "normal", 0, 5, 5, due_at=5)


MAKERS: dict[RunState, Callable[[Run], Run]] = {
    RunState.RUNNING: lambda row: claimed(row, "owner", 100, 30),
    RunState.RETRYING: lambda row: retrying(row, 200, FAILED),
    RunState.QUEUED: requeued,
    **{
        state: lambda row, state=state: ended(row, state, 100, Guarantor.MESSAGE)  # type: ignore[misc]
        for state in sorted(TERMINAL)
    },
}


@pytest.mark.parametrize(("before", "after"), list(itertools.product(RunState, MAKERS)))
def test_a_move_is_made_exactly_if_the_table_has_it(before: RunState, after: RunState) -> None:
    taken_over = before is after is RunState.RUNNING  # the same state, a new attempt
    if after in MOVES[before] or taken_over:
        moved = MAKERS[after](run(before))
        assert moved.state is after
    else:
        with pytest.raises(IllegalMoveError):
            MAKERS[after](run(before))


def test_every_state_has_its_moves_and_is_live_or_terminal() -> None:
    assert set(MOVES) == set(RunState)
    assert set(RunState) == TERMINAL | LIVE
    assert all(MOVES[state] <= {RunState.QUEUED, RunState.SKIPPED} for state in TERMINAL - {RunState.FAILED})
    assert all(reason.sentence for reason in Reason)


def test_a_claim_makes_a_new_attempt_with_a_lease_and_moves_a_due_key_to_its_end() -> None:
    row = claimed(replace(run(RunState.QUEUED), due_at=None), "a", 100, 30)
    assert (row.attempt, row.owner, row.claimed_at, row.lease_until, row.due_at) == (1, "a", 100, 130, None)
    assert claimed(replace(run(RunState.QUEUED), due_at=5), "a", 100, 30).due_at == 130
    taken = claimed(row, "b", 200, 30)
    assert (taken.attempt, taken.owner, taken.lease_until) == (2, "b", 230)
    assert renewed(taken, 210, 30).lease_until == 240
    assert asked_to_stop(taken, Reason.JOB_CANCELLED).cancel_requested


def test_a_retry_waits_in_the_due_index_and_leaves_it_when_it_is_queued() -> None:
    row = retrying(run(RunState.RUNNING), 200, FAILED)
    assert (row.not_before, row.due_at, row.last, row.first_started_at) == (200, 200, FAILED, 20)
    assert (requeued(row).due_at, requeued(row).not_before) == (None, 200)


def test_an_ended_run_keeps_its_due_key_and_its_first_start() -> None:
    row = replace(run(RunState.RUNNING), first_started_at=7, owner="a", lease_until=9)
    over = ended(row, RunState.FAILED, 100, Guarantor.MESSAGE, Reason.RETRIES_EXHAUSTED, FAILED)
    assert (over.due_at, over.owner, over.lease_until, over.finished_at) == (5, None, None, 100)
    assert (over.first_started_at, over.lateness_ms, over.last) == (7, 2, FAILED)
    assert due_again(over, None).due_at is None


@pytest.mark.parametrize(
    ("guarantor", "due_at"), [(Guarantor.MESSAGE, None), (Guarantor.OWNER, None), (Guarantor.SCAN, 100)]
)
def test_an_end_that_the_scan_guarantees_is_written_with_a_due_key(guarantor: Guarantor, due_at: int | None) -> None:
    row = replace(run(RunState.RUNNING), due_at=None)
    assert ended(row, RunState.FAILED, 100, guarantor).due_at == due_at


# Each case: the last instant of the row's range, an instant, and whether the row covers it.
COVERED = {"its own": (None, 5, True), "another": (None, 6, False), "within": (9, 7, True), "after": (9, 10, False)}


@pytest.mark.parametrize("case", COVERED)
def test_a_row_covers_its_instants(case: str) -> None:
    last_at, fire_at, covers = COVERED[case]
    row = replace(run(RunState.SKIPPED), last_fire_at=last_at)
    assert row.covers(fire_at) == covers
    assert not replace(row, id=replace(row.id, origin=Origin.MANUAL)).covers(fire_at)
