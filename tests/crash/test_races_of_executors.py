"""Interleavings that a review of the design found dangerous: of executors and their messages.

test_races_of_scans_and_changes.py has those of plans, users and their clients, and says where the others are.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pytest

from tests.crash.promises import assert_all_is_well, at_rest
from tests.crash.stage import stop_when
from tests.engine.play import NOW, PLAIN_RETRY, Play, spec
from tests.engine.runs.outcomes import DONE, outcome
from tests.engine.service import KEY, Service, at
from timeball.domain.model.jobs.job import Completion, Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import Outcome
from timeball.domain.model.terms.policies import RetryPolicy
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every
from timeball.engine.changes.change import Changed, cancel
from timeball.engine.changes.change import ChangeOutcome as Change
from timeball.engine.execution.claim import claim
from timeball.engine.runs.callback import Report, report
from timeball.engine.runs.watch import reconcile_messages
from timeball.ports.queue import Delivery
from timeball.testing.faults import Points

LEASE_AND_MARGIN_SECONDS = 35


def _run(play: Play) -> Run:
    (run,) = play.runs(KEY)
    return run


def _one_off(play: Play, retry: RetryPolicy = PLAIN_RETRY) -> Job:
    (job,) = play.store_jobs([spec("job", At(NOW), retry)])
    play.scan_all()
    return job


def _called_at(play: Play) -> list[tuple[int, float]]:
    """Return attempt and moment of each call, in seconds from NOW."""
    return [(call.attempt, (called_at - NOW) / SECOND_MS) for called_at, call in play.caller.calls]


# A retry: its backoff (s), which makes its message come back after its due entry, or before.
BACKOFFS = {"the retry is due before its old message comes back": 5, "the old message comes back first": 600}


@pytest.mark.parametrize("case", BACKOFFS)
def test_a_retry_cut_off_between_its_row_and_the_removal_of_its_message_is_made_once_and_on_time(case: str) -> None:
    play = Play()
    job = _one_off(play, replace(PLAIN_RETRY, base_seconds=BACKOFFS[case]))
    play.caller.statuses = [500]
    stop_when(play, Play.execute_next, lambda play: _run(play).state is RunState.RETRYING)
    assert len(play.messages()) == 1
    if BACKOFFS[case] > LEASE_AND_MARGIN_SECONDS:
        play.clock.advance(LEASE_AND_MARGIN_SECONDS * SECOND_MS)
        assert play.execute_next()
        assert (_run(play).state, play.messages()) == (RunState.RETRYING, []), "no executor waits for it that long"
    play.run_on(job.key)
    assert _called_at(play) == [(1, 0), (2, BACKOFFS[case])]
    assert_all_is_well(at_rest(play, job))


def _execute_then_scan(play: Play) -> None:
    play.execute_next()
    play.scan_all()


def _scan_then_execute(play: Play) -> None:
    play.scan_all()
    play.execute_next()


@pytest.mark.parametrize("order", [_execute_then_scan, _scan_then_execute])
def test_a_retry_cut_off_between_its_send_and_its_requeue_is_made_once_in_either_order(
    order: Callable[[Play], None],
) -> None:
    play = Play()
    job = _one_off(play)
    play.caller.statuses = [500]
    play.execute_next()
    play.clock.advance(5 * SECOND_MS)
    sent = len(play.queue.sent)
    stop_when(play, Play.scan, lambda play: len(play.queue.sent) > sent or _run(play).state is RunState.QUEUED)
    order(play)
    play.run_on(job.key)
    assert _called_at(play) == [(1, 0), (2, 5)]
    assert_all_is_well(at_rest(play, job))


def _lost(play: Play) -> list[Delivery]:
    """Let an executor vanish with a run, and let its lease and margin pass."""
    _one_off(play)
    deliveries = play.queue.receive("normal")
    claim(play.context(), [delivery.run for delivery in deliveries], "vanished")
    play.clock.advance(LEASE_AND_MARGIN_SECONDS * SECOND_MS)
    play.caller.takes_ms = MINUTE_MS
    return deliveries


def test_a_delete_at_any_point_of_a_take_over_is_followed_by_no_attempt_and_stops_the_one_that_it_names() -> None:
    outcomes = set()
    for point in count():
        play = Play()
        deliveries = _lost(play)
        deleted: list[tuple[Changed, Run]] = []

        def delete(play: Play = play, deleted: list[tuple[Changed, Run]] = deleted) -> None:
            (changed,) = cancel(play.context(), [(KEY, None)])
            deleted.append((changed, _run(play)))

        points = Points(point, delete)
        play.execute(deliveries, points)
        play.run_on(KEY)
        if not deleted:
            break  # it has no such point
        ((changed, then),) = deleted
        outcomes.add(_assert_cancel_held(play, changed, then))
    assert outcomes == {"before the claim", "during the attempt", "after its end"}


def test_a_take_over_at_any_point_of_a_delete_starts_nothing_after_it_and_is_stopped_if_it_came_before() -> None:
    point, reached, outcomes = 0, 1, set()
    while point < reached:
        play = Play()
        (delivery,) = _lost(play)

        def take_over(play: Play = play, delivery: Delivery = delivery) -> None:
            (one,) = claim(play.context(), [delivery.run], "heir")
            if one.is_done:
                play.queue.inbox("normal").delete([delivery])

        points = Points(point, take_over)
        (changed,) = cancel(play.context(points), [(KEY, None)])
        then = _run(play)
        play.run_on(KEY)
        outcomes.add(_assert_cancel_held(play, changed, then))
        assert play.caller.calls == []
        point, reached = point + 1, max(reached, points.reached)
    assert outcomes == {"before the claim", "during the attempt"}


def _assert_cancel_held(play: Play, changed: Changed, then: Run) -> str:
    """Assert promise 7 for a run that is taken over, and return when it stopped; `then` is the run at the answer."""
    run, status = _run(play), play.job(KEY).status
    assert_all_is_well(at_rest(play, play.job(KEY)))
    if changed.outcome is Change.ENDED:
        assert (then.state, run, status) == (RunState.SUCCEEDED, then, JobStatus.COMPLETED)
        return "after its end"
    assert (changed.outcome, status) == (Change.DONE, JobStatus.CANCELLED)
    assert run.attempt == then.attempt, "the run is not claimed after the answer"
    if then.state is RunState.RUNNING:
        assert changed.claimed == (run.id,)
    if run.state is RunState.SUCCEEDED:  # the target had answered, and the end was still to be written
        return "after its end"
    assert (run.state, run.reason) == (RunState.CANCELLED, Reason.JOB_CANCELLED)
    return "during the attempt" if run.attempt == 2 else "before the claim"


@pytest.mark.parametrize("executor_dies", [False, True])
def test_a_dead_letter_of_a_live_run_changes_nothing_and_brings_it_back_if_its_executor_dies(
    service: Service, *, executor_dies: bool
) -> None:
    play = service.play
    play.store_jobs([spec("job", At(NOW))])
    service.target.takes = lambda _: 2 * MINUTE_MS
    service.until(at(15))
    play.queue.give_up(_run(play).id)
    service.until(at(16))
    run = _run(play)
    assert (run.state, run.attempt, run.delivery_failures) == (RunState.RUNNING, 1, 0)
    if executor_dies:
        service.kill_executors()
    service.until(at(400))
    run, calls = _run(play), [(visit.attempt, (visit.from_at - NOW) // SECOND_MS) for visit in service.target.visits]
    assert (run.state, run.due_at, play.messages()) == (RunState.SUCCEEDED, None, [])
    assert calls == ([(1, 0), (2, 10 + LEASE_AND_MARGIN_SECONDS)] if executor_dies else [(1, 0)])
    assert play.job(KEY).status is JobStatus.COMPLETED


def test_a_run_that_is_claimed_after_its_message_was_given_up_is_found_although_the_message_is_gone(
    service: Service,
) -> None:
    """The executor sleeps between its receive and its claim until the queue gives up on the message; then it dies."""
    play = service.play
    _one_off(play)
    (delivery,) = play.queue.receive("normal")
    play.queue.give_up(delivery.run)
    reconcile_messages(play.context(), play.queue.dead)
    play.queue.dead.clear()
    assert claim(play.context(), [delivery.run], "sleeper")[0].is_mine
    service.until(at(2 * MINUTE_MS // SECOND_MS))
    run, calls = _run(play), [(visit.attempt, (visit.from_at - NOW) // SECOND_MS) for visit in service.target.visits]
    assert (run.state, run.due_at, play.messages()) == (RunState.SUCCEEDED, None, [])
    assert calls == [(2, LEASE_AND_MARGIN_SECONDS)]


# The moment of the kill, by its writes; when the run may start again (s), and as which attempt.
FIRST_SECOND = {
    "before it hides its messages: the queue's own time": (0, 900, 1),
    "before it claims": (1, LEASE_AND_MARGIN_SECONDS, 1),
    "behind its claim": (3, LEASE_AND_MARGIN_SECONDS, 2),
}


@pytest.mark.parametrize("case", FIRST_SECOND)
def test_an_executor_killed_in_its_first_second_gives_its_run_to_another_as_soon_as_its_message_is_back(
    case: str,
) -> None:
    point, back_after_seconds, attempt = FIRST_SECOND[case]
    play = Play()
    job = _one_off(play)
    points = iter(range(point + 1))
    stop_when(play, Play.execute_next, lambda _: next(points) == point)
    play.run_on(job.key)
    assert _called_at(play) == [(attempt, back_after_seconds)]
    assert_all_is_well(at_rest(play, job))


def test_nine_fast_runs_end_at_once_beside_one_of_800_s_which_keeps_its_lease_and_is_called_once(
    service: Service,
) -> None:
    play, names = service.play, [f"fast-{number}" for number in range(9)] + ["slow"]
    play.store_jobs(spec(name, At(NOW), timeout_seconds=840) for name in names)
    service.target.takes = lambda call: 800 * SECOND_MS if call.run.job.job_id == "slow" else 0
    service.until(at(11))
    assert [run.job.job_id for run, _ in play.messages()] == ["slow"]
    renewals = 0
    for second in range(11, 800):
        ((run, seen_at),) = play.messages()
        (before,) = play.store.runs.read([run])
        service.until(at(second))
        (after,) = play.store.runs.read([run])
        assert before is not None
        assert after is not None
        renewals += after.revision - before.revision
        assert after.lease_until is not None
        assert min(after.lease_until, seen_at) > at(second) + 15 * SECOND_MS
    assert 77 <= renewals <= 80
    service.until(at(810))
    assert sorted(call.run.job.job_id for _, call in service.target.calls) == names
    assert {call.attempt for _, call in service.target.calls} == {1}
    assert play.messages() == []
    assert {play.runs(call.run.job)[0].state for _, call in service.target.calls} == {RunState.SUCCEEDED}


def test_an_outage_of_only_the_executors_causes_no_flood(service: Service) -> None:
    """Scans go on, and 120 messages await the executors. Fires over a minute late are skipped, except the latest."""
    play = service.play
    play.store_jobs([spec("job", Every(5, NOW))])
    service.until(at(60))
    service.engine.is_executing = False
    service.until(at(660))
    assert len(play.messages()) >= 120
    service.engine.is_executing = True
    service.until(at(720))
    late = [call.run.fire_at for called_at, call in service.target.calls if called_at > call.run.fire_at + SECOND_MS]
    assert [(fire_at - NOW) // SECOND_MS for fire_at in late] == [595, *range(600, 660, 5)]
    on_time = [call.run.fire_at for _, call in service.target.calls if call.run.fire_at not in late]
    assert [(fire_at - NOW) // SECOND_MS for fire_at in on_time] == [*range(0, 61, 5), *range(660, 721, 5)]
    misfired = [run.id.fire_at for run in play.runs(KEY) if run.reason is Reason.MISFIRED]
    assert [(fire_at - NOW) // SECOND_MS for fire_at in misfired] == [*range(65, 595, 5)]


def _complete(play: Play) -> str:
    return outcome(report(play.context(), [Report(_run(play).id, 1, body="done")])[0])


def test_a_crash_after_complete_leaves_the_rest_to_the_scan_and_the_target_may_repeat_its_report() -> None:
    play = Play()
    job = replace(spec("job", At(NOW), timeout_seconds=600), completion=Completion.CALLBACK, heartbeat_seconds=60)
    play.store_jobs([job])
    play.scan_all()
    play.caller.statuses = [202]
    play.drain()
    stop_when(play, _complete, lambda play: _run(play).is_terminal)
    assert play.job(KEY).status is JobStatus.PENDING
    assert _run(play).due_at is not None
    assert play.messages() == []
    play.run_on(KEY, to_its_end=True)
    play.scan_all()
    assert _complete(play) is DONE
    rest = at_rest(play, play.job(KEY))
    assert (rest.runs[0].state, rest.runs[0].attempt, rest.row.status) == (RunState.SUCCEEDED, 1, JobStatus.COMPLETED)
    assert rest.runs[0].last is not None
    assert (rest.runs[0].last.outcome, rest.runs[0].last.body) == (Outcome.SUCCEEDED, "done")
    assert len(rest.calls) == 1
    assert_all_is_well(rest)
