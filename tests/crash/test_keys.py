"""Jobs with limiters: an executor and a scan are stopped anywhere; the limits hold, and no run waits for ever."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import pytest

from tests.crash.stage import Stage, stop_when
from tests.engine.play import NOW, WORK, Play, spec
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, LimiterKey, RunId
from timeball.domain.model.jobs.job import JobSpec, with_spec
from timeball.domain.model.runs.limiter import Bounds, Fixed
from timeball.domain.model.runs.run import Permit, Run, RunState
from timeball.domain.model.terms.flow import ConcurrencyLimit, Flow, RateLimit
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.sharing.slots_and_tokens import SETTLES_MS
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule
from timeball.engine.changes.change import revise
from timeball.engine.execution.claim import claim
from timeball.engine.execution.in_flight import renew
from timeball.engine.quotas import fix_limit
from timeball.engine.runs.manual import retry_runs
from timeball.engine.runs.waiting_lines import release_slots
from timeball.ports.rows import Swap, Swapped
from timeball.testing.faults import Points

NAMES = ("a", "b", "c")
TAKES_MS = 2_000
KEY = LimiterKey("acme", "key")


def _place(name: str) -> JobSpec:
    return replace(spec(name, At(NOW)), flow=Flow(concurrency=ConcurrencyLimit("key", 1)))


def _turn(name: str) -> JobSpec:
    return replace(spec(name, At(NOW)), flow=Flow(rate=RateLimit("key", 0.2)))


def _all_end(left: Play, stage: Stage, *, apart_ms: int) -> None:
    """Assert that all runs succeed, begin at least this far apart, and none waits any more."""
    left.clock.advance(stage.later_ms)
    for _ in NAMES:
        for name in NAMES:
            left.run_on(JobKey("acme", name))
    for name in NAMES:
        (run,) = left.runs(JobKey("acme", name))
        assert run.state is RunState.SUCCEEDED
        assert run.waiting is None
    begun = sorted(called_at for called_at, _ in left.caller.calls)
    assert all(later - earlier >= apart_ms for earlier, later in pairwise(begun))
    assert left.clock.now() < NOW + 60 * MINUTE_MS + stage.later_ms


@pytest.mark.on_moto
@pytest.mark.parametrize(("keyed", "apart_ms"), [(_place, TAKES_MS), (_turn, 5 * SECOND_MS)])
def test_runs_whose_executor_was_stopped_anywhere_all_end_within_the_limit(
    stage: Stage, keyed: Callable[[str], JobSpec], apart_ms: int
) -> None:
    play = stage.play(NOW)
    play.store_jobs([keyed(name) for name in NAMES])
    play.scan_all()
    deliveries = play.queue.receive("normal")
    assert len(deliveries) == len(NAMES)
    play.caller.takes_ms = TAKES_MS
    for left in stage.crashes(play, partial(Play.execute, deliveries=deliveries), 10):
        _all_end(left, stage, apart_ms=apart_ms)


def _behind_its_lock(stage: Stage) -> Play:
    """Let a run with a slot be admitted for its rate token while a newer run of its job has the lock."""
    play, rate = stage.play(NOW), RateLimit("rate", 0.01)
    job = replace(
        spec("a", Schedule(Every(60, NOW), max_runs=2)), flow=Flow(concurrency=ConcurrencyLimit("key", 1), rate=rate)
    )
    play.store_jobs([replace(spec("b", At(NOW - SECOND_MS)), flow=Flow(rate=rate))])
    play.run_on(JobKey("acme", "b"))
    play.store_jobs([job])
    play.scan_all()
    play.execute_next()
    standing = with_spec(play.job(job.key), work=WORK)
    revise(play.context(), [(standing, replace(job, overlap=OverlapPolicy.QUEUE_ONE))])
    while not play.messages():
        play.clock.advance(SECOND_MS)
        play.scan_all()
    play.drain()
    while not play.messages():
        play.clock.advance(SECOND_MS)
        play.scan_all()
    older, newer = play.runs(job.key)
    assert (older.slots, newer.stands_in_line, play.job(job.key).holder) == (("key",), True, newer.id)
    return play


@pytest.mark.on_moto
def test_a_run_that_waits_for_its_lock_leaves_its_slot_to_others_wherever_its_executor_was_stopped(
    stage: Stage,
) -> None:
    play = _behind_its_lock(stage)
    for left in stage.crashes(play, Play.execute_next, 5):
        left.clock.advance(stage.later_ms)
        left.run_on(JobKey("acme", "a"))
        assert [run.state for run in left.runs(JobKey("acme", "a"))] == [RunState.SUCCEEDED] * 2


def _waiting(stage: Stage, keyed: Callable[[str], JobSpec], slots: int) -> Play:
    """Let all runs of jobs under a key wait: for a limit that a person has set, or for its rate."""
    play = stage.play(NOW)
    fix_limit(play.context(), KEY, Bounds(slots), None, NOW)
    play.store_jobs([keyed(name) for name in NAMES])
    play.caller.takes_ms = TAKES_MS
    play.scan_all()
    play.execute(play.queue.receive("normal"))
    return play


def test_a_run_begins_wherever_the_scan_that_admits_it_was_stopped(stage: Stage) -> None:
    play = _waiting(stage, _turn, slots=1)
    play.clock.advance(5 * SECOND_MS)
    for left in stage.crashes(play, Play.scan_all, 4):
        _all_end(left, stage, apart_ms=5 * SECOND_MS)


@pytest.mark.on_moto
def test_a_run_begins_although_the_request_that_raised_its_limit_was_stopped_anywhere(stage: Stage) -> None:
    play = _waiting(stage, _place, slots=0)

    def raise_limit(on: Play) -> None:
        fix_limit(on.context(), KEY, Bounds(1), None, on.clock.now())

    for left in stage.crashes(play, raise_limit, 5):
        raise_limit(left)
        _all_end(left, stage, apart_ms=TAKES_MS)


def test_a_waiting_run_ends_although_the_change_of_its_job_to_another_key_was_stopped_anywhere(stage: Stage) -> None:
    play = _waiting(stage, _turn, slots=1)
    another = Flow(rate=RateLimit("another", 100))

    def change(on: Play) -> None:
        for name in NAMES:
            job = with_spec(on.job(JobKey("acme", name)), work=WORK)
            revise(on.context(), [(job, replace(spec(name, At(NOW)), flow=another))])

    for left in stage.crashes(play, change, 20):
        _all_end(left, stage, apart_ms=0)


class _At(Points):
    """Runs a function once, at the point with a number."""

    def __init__(self, number: int, act: Callable[[], object]) -> None:
        super().__init__(None)
        self._number, self._does = number, act

    def reach(self) -> None:
        """Count a point, and act if it is the right one."""
        self.reached += 1
        if self.reached == self._number:
            self._does()


def _two() -> tuple[Play, Run, Run]:
    """Return two runs that were sent, of a key with one slot."""
    play = Play()
    play.store_jobs([_place("a"), _place("b")])
    play.scan_all()
    (a,), (b,) = play.runs(JobKey("acme", "a")), play.runs(JobKey("acme", "b"))
    return play, a, b


def test_an_executor_that_stands_still_anywhere_in_its_claim_makes_no_run_too_many() -> None:
    number, reached = 0, 1
    while number < reached:
        number += 1
        play, a, b = _two()

        def stand_still(play: Play = play, other: RunId = b.id) -> None:
            play.clock.advance(3 * play.rules.lease_ms)
            claim(play.context(), [other], "another")

        points = _At(number, stand_still)
        (first,) = claim(play.context(points), [a.id], "one")
        if first.is_mine and first.run is not None:
            renew(play.context(), [first.run])
        states = [run.state for run in (*play.runs(JobKey("acme", "a")), *play.runs(JobKey("acme", "b")))]
        assert states.count(RunState.RUNNING) <= 1, f"it stood still at point {number}"
        reached = points.reached
    assert reached > 5


def test_an_executor_that_stands_still_after_an_end_frees_no_slot_of_a_run_that_has_begun_again() -> None:
    number, reached = 0, 1
    while number < reached:
        number += 1
        play, a, b = _two()
        play.caller.statuses = [400]

        def run_again(play: Play = play, over: RunId = a.id, other: RunId = b.id) -> None:
            retry_runs(play.context(), [over])
            claim(play.context(), [over], "another")
            claim(play.context(), [other], "another")

        points = _At(number, run_again)
        play.execute([one for one in play.queue.receive("normal") if one.run == a.id], points)
        play.clock.advance(SETTLES_MS)
        play.scan_all()
        claim(play.context(), [b.id], "a third")
        states = [run.state for run in (*play.runs(JobKey("acme", "a")), *play.runs(JobKey("acme", "b")))]
        assert states.count(RunState.RUNNING) <= 1, f"it stood still at point {number}"
        reached = points.reached
    assert reached > 5


def test_a_run_that_joins_its_line_late_is_admitted() -> None:
    number, reached = 0, 1
    while number < reached:
        number += 1
        play = Play()
        fix_limit(play.context(), KEY, Bounds(0), None, NOW)
        play.store_jobs([_place("a")])
        play.scan_all()

        def stand_still(play: Play = play) -> None:
            play.clock.advance(SETTLES_MS)
            play.scan_all()

        points = _At(number, stand_still)
        play.execute(play.queue.receive("normal"), points)
        fix_limit(play.context(), KEY, Bounds(1), None, play.clock.now())
        play.run_on(JobKey("acme", "a"))
        reached = points.reached
    assert reached > 3


def test_a_run_that_joins_its_line_late_is_admitted_though_the_index_lags_behind_its_row() -> None:
    number, reached = 0, 1
    while number < reached:
        number += 1
        play = Play()
        _let_lines_lag(play)
        fix_limit(play.context(), KEY, Bounds(0), None, NOW)
        play.store_jobs([_place("a")])
        play.scan_all()
        points = _At(number, partial(play.clock.advance, SETTLES_MS * 6 // 10))
        play.execute(play.queue.receive("normal"), points)
        for _ in range(SETTLES_MS // SECOND_MS):
            play.scan_all()
            play.clock.advance(SECOND_MS)
        (limiter,) = play.store.limiters.read([KEY])
        assert limiter is not None
        roomy = evolve(limiter, fixed=Fixed(Bounds(1)))  # and nothing else: `fix_limit` makes the limiter due
        play.store.limiters.swap([Swap(limiter, roomy)], play.clock.now())
        play.run_on(JobKey("acme", "a"))
        assert play.runs(JobKey("acme", "a"))[0].state is RunState.SUCCEEDED, f"it stood still at point {number}"
        reached = points.reached
    assert reached > 3


def _let_lines_lag(play: Play) -> None:
    """Let the index of lines show each run as late as a limiter tolerates."""
    swap, in_line = play.store.runs.swap, play.store.runs.in_line
    shown_at = [0]

    def noting(swaps: Sequence[Swap[Run]], now: int) -> list[Swapped[Run]]:
        if any(one.after.waiting is not None for one in swaps):
            shown_at[0] = play.clock.now() + SETTLES_MS
        return swap(swaps, now)

    def lagging(limiter: LimiterKey, permit: Permit, limit: int) -> list[RunId]:
        return in_line(limiter, permit, limit) if play.clock.now() >= shown_at[0] else []

    play.store.runs.swap, play.store.runs.in_line = noting, lagging  # type: ignore[method-assign]


def test_a_run_that_a_dying_process_had_named_is_admitted_though_other_runs_end_all_the_time() -> None:
    """The end of each other run reads only its own row, and not the rows of the runs that the limiter names."""
    play, _, _ = _two()
    fix_limit(play.context(), KEY, Bounds(0), None, NOW)
    play.execute(play.queue.receive("normal"))
    (over,) = play.store_jobs([spec("over", At(NOW))])
    play.run_on(over.key)

    def raise_limit(on: Play) -> None:
        fix_limit(on.context(), KEY, Bounds(1), None, on.clock.now())

    stop_when(play, raise_limit, _names_one)
    assert play.messages() == []
    for _ in range(3 * play.rules.lease_ms // SECOND_MS):
        ended = play.runs(over.key)
        release_slots(play.context(), ended, {run.id: {"key"} for run in ended})
        play.scan_all()
        play.clock.advance(SECOND_MS)
    assert play.messages() != []


def _names_one(play: Play) -> bool:
    (limiter,) = play.store.limiters.read([KEY])
    return limiter is not None and limiter.begun != ()
