"""An executor that is too old to take waiting runs starts a successor that takes them, once."""

from dataclasses import dataclass, field, replace

import pytest

from tests.engine.hanging import HANGS_MS, called, executed, played
from tests.engine.play import NOW, spec
from timeball.domain.model.ids import JobKey
from timeball.domain.sharing.executors import (
    LOOKS_LEFT_SECONDS,
    SUCCEEDED_LEFT_SECONDS,
    TAKES_LEFT_SECONDS,
    Phase,
    phase_of,
    unfit_seconds,
)
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.execution.invocation import last_call_at
from timeball.engine.execution.more_messages import LOOK_EVERY_MS
from timeball.ports.errors import UnavailableError

YOUNG = NOW + 900 * SECOND_MS
HALF_OVER = NOW + 400 * SECOND_MS
OLD = NOW + 320 * SECOND_MS


@dataclass
class Noting:
    """Notes until when each successor must take waiting runs. The first `fails` starts fail."""

    fails: int = 0
    asked: int = 0
    started: list[int] = field(default_factory=list)

    def start(self, until: int) -> None:
        self.asked += 1
        if self.asked <= self.fails:
            raise UnavailableError("throttled")
        self.started.append(until)


def test_a_young_executor_starts_no_successor() -> None:
    play, successor = played(slow=(10, 0), quick=(25, 0)), Noting()
    executed(play, YOUNG, successor)
    assert successor.started == []


def test_an_executor_whose_time_is_half_over_takes_waiting_runs_and_starts_one_successor() -> None:
    play, successor = played(slow=(10, 0), quick=(25, 0)), Noting()
    executed(play, HALF_OVER, successor)
    assert called(play, "quick") == [LOOK_EVERY_MS] * 25
    assert successor.started == [HALF_OVER]


def test_an_executor_that_finds_nothing_starts_no_successor_and_polls_to_its_end() -> None:
    play, successor = played(slow=(10, 0)), Noting()
    inbox = executed(play, OLD, successor)
    assert successor.started == []
    assert len(inbox.asked) >= HANGS_MS // LOOK_EVERY_MS - 1


def test_an_executor_that_is_too_old_keeps_nothing_and_starts_its_successor_at_once() -> None:
    play, successor = played(slow=(10, 0), quick=(25, 0)), Noting()
    inbox = executed(play, OLD, successor)
    assert called(play, "quick") == []
    assert successor.started == [OLD]
    assert inbox.asked == [10]  # it polls no more from then on
    assert [visible_at for _, visible_at in play.messages()].count(NOW + LOOK_EVERY_MS) == 10


def test_a_successor_that_could_not_be_started_is_started_when_runs_wait_again() -> None:
    play, successor = played(slow=(10, 0), quick=(1, 0)), Noting(fails=2)
    executed(play, OLD, successor)
    assert (successor.asked, successor.started) == (3, [OLD])


def test_an_executor_without_a_successor_polls_no_more_when_it_is_too_old() -> None:
    play = played(slow=(10, 0), quick=(25, 0))
    assert executed(play, OLD).asked == []
    assert len(play.messages()) == 25


def test_a_successor_takes_waiting_runs_at_once_and_later_ones_while_it_is_idle() -> None:
    play = played(later=(5, 0))
    play.queue.receive("normal", 10, 30)  # their receiver is never heard of again
    play.store_jobs(replace(spec(f"job-{n}", At(NOW)), key=JobKey("quick", f"job-{n}")) for n in range(25))
    play.scan_all()
    inbox = executed(play, YOUNG, stays_until=NOW + 60 * SECOND_MS)
    assert called(play, "quick") == [0] * 25
    assert called(play, "later") == [30 * SECOND_MS] * 5
    assert NOW + 60 * SECOND_MS <= play.clock.now() < NOW + 61 * SECOND_MS
    assert len(inbox.asked) >= 119


def test_a_successor_goes_on_while_its_calls_last() -> None:
    play = played(slow=(10, 0))
    executed(play, YOUNG, stays_until=NOW + 1)
    assert len(called(play, "slow")) == 10
    assert play.clock.now() >= NOW + HANGS_MS


def test_a_successor_with_too_little_time_left_does_not_stay() -> None:
    play = played(quick=(25, 0))
    executed(play, OLD, stays_until=NOW + 60 * SECOND_MS)
    assert called(play, "quick") == []


def test_a_run_that_does_not_fit_is_returned_each_time_for_longer() -> None:
    play = played(slow=(10, 0))
    long = [spec(f"long-{n}", At(NOW), timeout_seconds=400) for n in range(25)]
    play.store_jobs(replace(one, key=JobKey("quick", one.key.job_id)) for one in long)
    play.scan_all()
    inbox = executed(play, NOW + 410 * SECOND_MS)
    assert called(play, "quick") == []
    assert {message.runs[0].job.tenant for message in play.queue.received.values()} == {"slow", "quick"}
    assert {run.job.tenant for run, _ in play.messages()} == {"quick"}
    assert len(play.queue.received) < 25 * 32  # in 200 s
    assert len(inbox.asked) <= 2 * HANGS_MS / LOOK_EVERY_MS
    assert [unfit_seconds(times) for times in (0, 1, 2, 3, 4, 5, 10**9)] == [0, 1, 2, 4, 8, 8, 8]


@pytest.mark.parametrize("cold_start_seconds", [0, 10, 60])
def test_at_each_moment_an_executor_or_its_successor_takes_runs_that_may_last_300_seconds(
    cold_start_seconds: int,
) -> None:
    lives = 900
    successor_at = lives - SUCCEEDED_LEFT_SECONDS + cold_start_seconds
    for age in range(lives):
        takers = [lives - age] + ([lives - (age - successor_at)] if age >= successor_at else [])
        takes = [left for left in takers if phase_of(left * SECOND_MS, may_start_successor=False) is Phase.TAKES]
        assert takes, age
        assert all(last_call_at(left * SECOND_MS) >= 300 * SECOND_MS for left in takes)
    assert LOOKS_LEFT_SECONDS < TAKES_LEFT_SECONDS < SUCCEEDED_LEFT_SECONDS
