"""Who may begin, and who may be under way: by the row of a tenant, and by the rows of the runs that it names."""

from dataclasses import replace

import pytest

from tests.contract.rows import NOW, run
from timeball.domain.model.quotas import Quotas
from timeball.domain.model.reason import Reason
from timeball.domain.model.run import Run, RunState
from timeball.domain.model.transitions import claimed
from timeball.domain.policy.circuit_breaker import CALL, Admission
from timeball.domain.policy.pace import (
    LONGEST_LINE_MS,
    Begun,
    Line,
    Pace,
    admit,
    asked_by,
    given_in,
    is_to_be_looked_at,
    is_under_way,
    looked_at,
)
from timeball.domain.time.instants import SECOND_MS

LEASE_MS = 30_000
SECOND = NOW - NOW % SECOND_MS
NAMED = Begun(run().id, 1, NOW + LEASE_MS)
RUNNING = claimed(run(), "owner", NOW, LEASE_MS)
OUT = NOW + LEASE_MS


@pytest.mark.parametrize(
    ("row", "at", "is_there"),
    [
        (run(), NOW, True),  # its claim is on its way
        (run(), OUT, False),  # a claim that is written now may call no more
        (RUNNING, NOW, True),
        (replace(RUNNING, lease_until=OUT + LEASE_MS), OUT, True),  # renewed
        (RUNNING, OUT, False),  # nobody has renewed it
        (claimed(RUNNING, "another", NOW, LEASE_MS), NOW, True),  # it was taken over
        (replace(RUNNING, state=RunState.SUCCEEDED, lease_until=None), NOW, False),
        (replace(RUNNING, state=RunState.RETRYING, lease_until=None), NOW, False),
        (None, NOW, False),
    ],
)
def test_a_run_is_under_way_from_before_its_claim_until_it_is_over_or_its_lease_is(
    row: Run | None, at: int, *, is_there: bool
) -> None:
    assert is_under_way(NAMED, row, at) is is_there
    assert looked_at(Pace("acme", begun=(NAMED,)), {NAMED.run: row}, at).begun == ((NAMED,) if is_there else ())


A_SECOND, AT_ONCE = Quotas(runs_per_second=2), Quotas(runs_at_once=1)
ANOTHER = Begun(run(NOW + 1).id, 1, OUT)
NEXT = SECOND + SECOND_MS
FULL = Line(SECOND, 2)


@pytest.mark.parametrize(
    ("pace", "asking", "quotas", "admission"),
    [
        (Pace("acme"), run(), A_SECOND, CALL),
        (Pace("acme", begins=Line(SECOND, 1)), run(), A_SECOND, CALL),
        (Pace("acme", begins=FULL), run(), A_SECOND, Admission(NEXT, Reason.QUOTA_TURN)),
        (Pace("acme", begins=Line(SECOND - SECOND_MS, 2)), run(), A_SECOND, CALL),  # a second that is over
        (Pace("acme", begins=Line(NEXT, 1)), run(), A_SECOND, CALL),  # of one that is claimed ahead of its instant
        (Pace("acme", begins=Line(NEXT, 1, 1)), run(), A_SECOND, CALL),
        (Pace("acme", begins=Line(NEXT, 1, 2)), run(), A_SECOND, Admission(NEXT, Reason.QUOTA_TURN)),
        (
            Pace("acme", begins=Line(NEXT + SECOND_MS, 1)),
            run(),
            A_SECOND,
            Admission(NEXT + SECOND_MS, Reason.QUOTA_TURN),
        ),
        (Pace("acme", begins=FULL), replace(run(), reason=Reason.QUOTA_TURN), A_SECOND, CALL),  # it has its turn
        (
            Pace("acme", begins=FULL),
            replace(run(), reason=Reason.QUOTA_WAIT),
            A_SECOND,
            Admission(NEXT, Reason.QUOTA_TURN),
        ),
        (Pace("acme", begun=(ANOTHER,)), run(), AT_ONCE, Admission(NOW + SECOND_MS, Reason.QUOTA_WAIT)),
        (Pace("acme", begun=(NAMED,)), run(), AT_ONCE, CALL),  # its own place: a claim whose answer was lost
        (Pace("acme", begun=(ANOTHER,)), run(), A_SECOND, CALL),
    ],
)
def test_a_run_begins_or_gets_a_turn(pace: Pace, asking: Run, quotas: Quotas, admission: Admission) -> None:
    assert admit(pace, asking, quotas, NOW, LEASE_MS)[1] == admission


def test_turns_are_given_second_by_second_whoever_comes_ahead() -> None:
    pace, turns = Pace("acme"), list[int]()
    for ahead in (0, 1, 0, 0, 1, 0):
        asking = replace(run(), not_before=NOW + ahead * SECOND_MS)
        pace, admission = admit(pace, asking, A_SECOND, NOW, LEASE_MS)
        turns.append((admission.until or asking.not_before) // SECOND_MS - SECOND // SECOND_MS)
    assert turns == [0, 1, 0, 1, 2, 2]
    assert [given_in(pace.begins, SECOND + n * SECOND_MS, 2) for n in range(4)] == [2, 2, 2, 0]


def test_one_that_comes_late_for_its_turn_takes_another() -> None:
    late = replace(run(), reason=Reason.QUOTA_TURN, not_before=NOW - SECOND_MS)
    assert admit(Pace("acme", begins=FULL), late, A_SECOND, NOW, LEASE_MS)[1].until == NEXT


def test_behind_a_long_line_one_asks_again_and_takes_no_turn() -> None:
    pace = Pace("acme", begins=Line(NOW + LONGEST_LINE_MS, 2))
    after, admission = admit(pace, run(), A_SECOND, NOW, LEASE_MS)
    assert (after, admission.reason) == (pace, Reason.QUOTA_WAIT)
    assert LONGEST_LINE_MS <= (admission.until or 0) - NOW <= 2 * LONGEST_LINE_MS


def test_those_under_way_are_read_when_there_is_no_place_and_not_twice_in_a_second() -> None:
    pace = Pace("acme", begun=(ANOTHER,), looked_at=NOW)
    assert not is_to_be_looked_at(pace, AT_ONCE, 1, NOW + 999)
    assert is_to_be_looked_at(pace, AT_ONCE, 1, NOW + SECOND_MS)
    assert not is_to_be_looked_at(pace, Quotas(runs_at_once=2), 1, NOW + SECOND_MS)
    assert not is_to_be_looked_at(pace, A_SECOND, 1, NOW + SECOND_MS)


def test_two_that_ask_at_once_never_write_the_same_row() -> None:
    assert asked_by([run()]) != asked_by([run(NOW + 1)])
    assert asked_by([run(), run(NOW + 1)]) == asked_by([run(NOW + 1), run()])
