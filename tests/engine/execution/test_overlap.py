"""Overlapping fires: what the overlap policy does with a fire and an earlier live run, with real executors."""

import pytest

from tests.engine.play import NOW, Play
from tests.engine.service import (
    KEY,
    Service,
    assert_calls_do_not_overlap,
    assert_guard_is_free,
    at,
    begin,
    ledger,
    locked,
    visits,
)
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import Every, Schedule
from timeball.engine.execution.claim import claim
from timeball.engine.metrics import Metric
from timeball.ports.queue import Delivery
from timeball.testing.faults import Points

SKIP, QUEUE_ONE, CANCEL_OTHER = OverlapPolicy.SKIP, OverlapPolicy.QUEUE_ONE, OverlapPolicy.CANCEL_OTHER


def test_a_job_that_allows_overlap_runs_in_parallel_and_has_no_lock(service: Service) -> None:
    begin(service, OverlapPolicy.ALLOW, Every(10, NOW), 25)
    service.until(at(45))
    assert [visit[1] for visit in visits(service)] == [0, 10, 20, 30, 40]
    assert_guard_is_free(service.play)


def test_skip_leaves_out_each_fire_that_is_due_while_an_earlier_run_is_live(service: Service) -> None:
    begin(service, SKIP, Every(10, NOW), 25)
    service.until(at(59))
    ran, skipped = ("succeeded", None), ("skipped", "overlap")
    assert ledger(service.play) == {0: ran, 10: skipped, 20: skipped, 30: ran, 40: skipped, 50: skipped}
    assert visits(service) == [(0, 0, 25), (30, 30, 55)]
    assert service.play.telemetry.counts == {(Metric.FIRES_SKIPPED, "overlap"): 4}
    assert_guard_is_free(service.play)


def test_a_run_that_ends_just_before_the_next_fire_does_not_overlap_it(service: Service) -> None:
    """Messages arrive up to a second before their instant: the instant decides, not the message."""
    begin(service, SKIP, Schedule(Every(10, NOW), end_at=at(40)), 9.9)
    service.until(at(60))
    assert set(ledger(service.play).values()) == {("succeeded", None)}
    starts = [visit[1] - visit[0] for visit in visits(service)]
    assert len(starts) == 5
    assert max(starts) <= 1


def test_queue_one_runs_the_waiting_fire_after_the_holder_and_skips_later_fires(
    service: Service,
) -> None:
    begin(service, QUEUE_ONE, Every(10, NOW), 35)
    service.until(at(33))
    assert service.play.job(KEY).next_holder == RunId(KEY, at(10), Origin.SCHEDULE)
    service.until(at(110))
    ran, skipped = ("succeeded", None), ("skipped", "overlap")
    assert [fire for fire, state in ledger(service.play).items() if state == ran] == [0, 10, 40]
    assert [fire for fire, state in ledger(service.play).items() if state == skipped] == [20, 30, 50, 60, 70, 90, 100]
    assert service.play.telemetry.counts == {(Metric.FIRES_SKIPPED, "overlap"): 7}
    assert_calls_do_not_overlap(service)
    assert [fire for fire, *_ in visits(service)] == [0, 10, 40, 80]


def test_a_waiting_run_starts_within_a_second_of_its_holders_end_and_shows_how_long_it_waited(
    service: Service,
) -> None:
    begin(service, QUEUE_ONE, Schedule(Every(10, NOW), end_at=at(10)), 125)
    service.until(at(300))
    (first, second) = visits(service)
    assert first[2] <= second[1] <= first[2] + 1
    run = service.play.runs(KEY)[1]
    assert run.lateness_ms is not None
    assert run.lateness_ms <= SECOND_MS
    assert run.gate_waits.overlap >= 115 * SECOND_MS - SECOND_MS
    assert service.play.job(KEY).status is JobStatus.COMPLETED
    assert_guard_is_free(service.play)


def test_cancel_other_stops_the_running_run_and_the_newest_fire_runs(service: Service) -> None:
    begin(service, CANCEL_OTHER, Schedule(Every(1, NOW), end_at=at(35)), 60)
    service.until(at(200))
    rows = ledger(service.play)
    assert rows[0] == ("cancelled", "replaced")
    assert rows[35] == ("succeeded", None)
    assert set(rows.values()) <= {("cancelled", "replaced"), ("skipped", "replaced"), ("succeeded", None)}
    skipped = sum(state == "skipped" for state, _ in rows.values())
    assert service.play.telemetry.counts == {(Metric.FIRES_SKIPPED, "replaced"): skipped}
    assert_calls_do_not_overlap(service)
    assert visits(service)[-1][0] == 35
    assert service.play.job(KEY).status is JobStatus.COMPLETED
    assert_guard_is_free(service.play)


def test_an_older_fire_whose_message_arrives_later_stops_no_newer_one() -> None:
    play = Play()
    play.store_jobs([locked(CANCEL_OTHER, Schedule(Every(2, NOW), end_at=at(2)))])
    play.scan_all()
    play.clock.advance(3 * SECOND_MS)
    older, newer = (delivery.run for delivery in play.queue.receive("normal"))
    (one,) = claim(play.context(), [newer], "a")
    assert one.is_mine
    (other,) = claim(play.context(), [older], "b")
    assert other.is_done
    rows = {run.id: run for run in play.runs(KEY)}
    assert (rows[newer].state, rows[newer].cancel_requested) == (RunState.RUNNING, False)
    assert (rows[older].state, rows[older].reason) == (RunState.SKIPPED, Reason.REPLACED)
    assert play.telemetry.counts == {(Metric.FIRES_SKIPPED, "replaced"): 1}


def test_a_holder_that_waits_for_its_retry_keeps_the_lock(service: Service) -> None:
    begin(service, SKIP, Every(3, NOW), 0)
    service.target.statuses = [500]
    service.until(at(8))
    assert ledger(service.play) == {
        0: ("succeeded", None),  # at its second try, five seconds later
        3: ("skipped", "overlap"),
        6: ("succeeded", None),
    }


def test_cancel_other_ends_a_holder_that_waits_for_its_retry_at_once(service: Service) -> None:
    begin(service, CANCEL_OTHER, Schedule(Every(3, NOW), end_at=at(3)), 0)
    service.target.statuses = [500]
    service.until(at(20))
    assert ledger(service.play) == {0: ("cancelled", "replaced"), 3: ("succeeded", None)}
    assert visits(service) == [(0, 0, 0), (3, 3, 3)]
    assert_guard_is_free(service.play)


@pytest.mark.parametrize("overlap", [SKIP, QUEUE_ONE])
def test_a_holder_whose_executor_was_killed_is_taken_over_with_its_lock_and_then_releases_it(
    service: Service, overlap: OverlapPolicy
) -> None:
    begin(service, overlap, Schedule(Every(20, NOW), end_at=at(40)), 12)
    service.until(at(5))
    service.kill_executors()
    service.until(at(200))
    rows = ledger(service.play)
    assert rows[0] == ("succeeded", None)
    assert rows[20] == (("succeeded", None) if overlap is QUEUE_ONE else ("skipped", "overlap"))
    taken_over = [(visit.run.fire_at, visit.attempt) for visit in service.target.visits[:2]]
    assert taken_over == [(NOW, 1), (NOW, 2)]
    assert_calls_do_not_overlap(service)
    assert service.play.job(KEY).status is JobStatus.COMPLETED
    assert_guard_is_free(service.play)


def test_a_stopped_holder_whose_executor_was_killed_ends_as_replaced_and_the_newest_run_starts(
    service: Service,
) -> None:
    begin(service, CANCEL_OTHER, Schedule(Every(20, NOW), end_at=at(20)), 60)
    service.until(at(15))
    service.kill_executors()
    service.until(at(200))
    assert ledger(service.play) == {0: ("cancelled", "replaced"), 20: ("succeeded", None)}
    assert_guard_is_free(service.play)


# By policy: how two due fires that are claimed in one batch end.
TOGETHER = {
    SKIP: (RunState.RUNNING, RunState.SKIPPED),
    QUEUE_ONE: (RunState.RUNNING, RunState.QUEUED),
    CANCEL_OTHER: (RunState.SKIPPED, RunState.RUNNING),
}


def _two_are_due(overlap: OverlapPolicy) -> tuple[Play, RunId, RunId]:
    play = Play()
    play.store_jobs([locked(overlap, Schedule(Every(2, NOW), end_at=at(2)))])
    play.scan_all()
    play.clock.advance(3 * SECOND_MS)
    first, second = (run.id for run in play.runs(KEY))
    return play, first, second


def _states(play: Play) -> tuple[RunState, ...]:
    return tuple(run.state for run in play.runs(KEY))


@pytest.mark.parametrize("overlap", TOGETHER)
@pytest.mark.parametrize("order", [1, -1])
def test_two_claims_of_one_lock_in_one_batch_leave_one_running(overlap: OverlapPolicy, order: int) -> None:
    play, first, second = _two_are_due(overlap)
    claim(play.context(), [first, second][::order], "one")
    assert _states(play) == TOGETHER[overlap]
    running = RunState.RUNNING
    assert play.job(KEY).holder == (first if TOGETHER[overlap][0] is running else second)


@pytest.mark.parametrize("overlap", TOGETHER)
@pytest.mark.parametrize("order", [1, -1])
def test_a_claim_between_any_two_writes_of_another_leaves_one_running_and_nothing_stuck(
    overlap: OverlapPolicy, order: int
) -> None:
    point, reached = 0, 1
    while point < reached:
        play, *both = _two_are_due(overlap)
        one, other = both[::order]

        def the_other(play: Play = play, other: RunId = other) -> None:
            claim(play.context(), [other], "other")

        points = Points(point, the_other)
        claim(play.context(points), [one], "one")
        assert _states(play).count(RunState.RUNNING) <= 1
        play.clock.advance(40 * SECOND_MS)
        play.drain()
        assert {RunState.SUCCEEDED} <= set(_states(play)) <= {RunState.SUCCEEDED, RunState.SKIPPED, RunState.CANCELLED}
        assert_guard_is_free(play)
        point, reached = point + 1, max(reached, points.reached)
    assert reached >= 4


def test_a_fire_that_takes_the_lock_between_a_holders_end_and_its_release_leaves_the_waiting_run_next() -> None:
    point, reached = 0, 1
    while point < reached:
        play = Play()
        play.store_jobs([locked(QUEUE_ONE, Schedule(Every(2, NOW), end_at=at(4)))])
        play.scan_all()
        play.clock.advance(5 * SECOND_MS)
        first, second, third = play.queue.receive("normal")

        def comes(play: Play = play, delivery: Delivery = third) -> None:
            play.queue.hide_one("normal", delivery.receipt, 0)
            (one,) = claim(play.context(), [delivery.run], "third")
            if one.is_done:
                play.queue.delete_one("normal", delivery.receipt)

        def parks(play: Play = play, delivery: Delivery = second) -> None:
            (one,) = claim(play.context(), [delivery.run], "second")
            assert one.is_done
            play.queue.delete_one("normal", delivery.receipt)

        play.caller.meanwhile = parks
        points = Points(point, comes)
        play.execute([first], points)
        reached = points.reached
        play.drain()
        ends = [run.state for run in play.runs(KEY)]
        assert ends[0] is RunState.SUCCEEDED
        assert RunState.SUCCEEDED in ends[1:]
        assert set(ends) <= {RunState.SUCCEEDED, RunState.SKIPPED}
        assert_guard_is_free(play)
        point += 1
    assert reached >= 10
