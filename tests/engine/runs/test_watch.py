"""Sent runs are checked again: no run is lost with its message, and a run is sent again only if its message is lost."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.crash.stage import stop_when
from tests.engine.play import NOW, Play, spec
from tests.engine.service import Service, at, begin
from timeball.domain.attempts.watch import FIRST_RECHECK_MS
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every
from timeball.engine.runs.trigger import Trigger, trigger
from timeball.engine.runs.watch import recheck
from timeball.engine.scheduling.submit import submit
from timeball.ports.queue import MAX_WATCHED, Watch
from timeball.ports.rows import Swap
from timeball.testing.faults import with_outages
from timeball.testing.memory_store import MemoryStore

KEY = JobKey("acme", "job")


def _fires(play: Play) -> None:
    play.store_jobs([spec("job", At(at(3)))])
    play.scan_all()


def _is_submitted(play: Play) -> None:
    submit(play.context(), [spec("job", At(NOW))], NOW)


def _is_triggered(play: Play) -> None:
    play.store_jobs([spec("job", At(at(3600)))])
    trigger(play.context(), [Trigger(KEY, fingerprint="f")])


def _is_tried_again(play: Play) -> None:
    play.caller.statuses = [500]
    _is_submitted(play)
    play.drain()
    play.clock.advance(5 * SECOND_MS)
    play.scan_all()


WAYS: dict[str, Callable[[Play], None]] = {
    "a fire that the scan sends": _fires,
    "a job that is due when it is submitted": _is_submitted,
    "a trigger": _is_triggered,
    "a retry": _is_tried_again,
}


def _first_look(play: Play) -> int:
    play.clock.advance(max(0, max(watch.at for watch in play.queue.watches) - play.clock.now()))
    return play.watch()


@pytest.mark.parametrize("way", WAYS)
def test_a_run_whose_message_is_purged_starts_twenty_seconds_after_its_instant(way: str) -> None:
    play = Play()
    WAYS[way](play)
    (run,) = [run for run in play.runs(KEY) if not run.is_terminal]
    play.queue.purge()
    assert _first_look(play) == 1
    play.drain()
    called_at, call = play.caller.calls[-1]
    assert (call.run, called_at) == (run.id, run.not_before + FIRST_RECHECK_MS)


def test_a_run_whose_executor_died_before_it_hid_the_message_starts_within_a_minute_and_once() -> None:
    play = Play()
    _fires(play)
    play.clock.advance(3 * SECOND_MS)
    assert len(play.queue.receive("normal", visibility_seconds=900)) == 1
    _first_look(play)
    play.drain()
    ((called_at, _),) = play.caller.calls
    assert called_at - at(3) == FIRST_RECHECK_MS < MINUTE_MS


def test_a_purge_of_a_recurring_jobs_messages_loses_none_of_its_fires() -> None:
    with Service(Play()) as service:
        service.engine.is_watching = True
        begin(service, OverlapPolicy.ALLOW, Every(2, at(0) - 250), 0.1)
        service.until(at(31))
        service.engine.is_executing = False
        service.until(at(60))
        service.play.queue.purge()
        service.engine.is_executing = True
        service.until(at(120))
        due = [at(second) - 250 for second in range(2, 121, 2)]
        assert sorted({call.run.fire_at for _, call in service.target.calls}) == due
        assert len(service.target.calls) == len(due)


def test_a_run_under_way_is_checked_less_and_less_often_and_never_sent_again() -> None:
    with Service(Play()) as service:
        service.engine.is_watching = True
        begin(service, OverlapPolicy.ALLOW, At(NOW), 600)
        service.until(at(1))
        looks = []
        for second in range(1, 700):
            looks += [second for watch in service.play.queue.watches if watch.at == at(second)]
            service.until(at(second))
        assert looks == [20, 40, 80, 160, 320, 640]
        assert service.play.queue.watches == []
        assert (len(service.play.queue.sent), len(service.target.calls)) == (1, 1)


def test_a_run_waiting_for_the_lock_is_sent_again_if_its_holders_end_was_lost_with_its_message() -> None:
    play = Play()
    play.store_jobs([replace(spec("job", Every(5, NOW)), overlap=OverlapPolicy.QUEUE_ONE)])
    play.scan_all()
    play.caller.takes_ms = 6 * SECOND_MS
    play.clock.advance(5 * SECOND_MS)
    stop_when(play, lambda play: play.drain(), lambda play: any(run.is_terminal for run in play.runs(KEY)))
    play.queue.purge()
    first, second, *_ = play.runs(KEY)
    assert first.is_terminal
    assert play.job(KEY).holder == first.id
    _first_look(play)
    play.drain()
    assert play.job(KEY).holder != first.id
    assert {run.id: run.state for run in play.runs(KEY)}[second.id] is RunState.SUCCEEDED


def test_a_job_ends_although_its_executor_died_right_after_writing_its_final_runs_end() -> None:
    play = Play()
    _is_submitted(play)
    stop_when(play, lambda play: play.drain(), lambda play: play.runs(KEY)[0].is_terminal)
    play.queue.purge()
    assert play.job(KEY).status is JobStatus.PENDING
    assert _first_look(play) == 0
    assert play.job(KEY).status is JobStatus.COMPLETED


def test_no_message_is_added_to_a_queue_whose_executors_are_behind() -> None:
    play = Play()
    play.store_jobs([spec(f"job-{number}", At(NOW)) for number in range(101)])
    play.scan_all()
    assert _first_look(play) == 0
    play.execute_next()
    assert play.queue.depth("normal").waiting == 91
    assert _first_look(play) == 91


def test_a_failed_check_is_repeated_and_stops_no_other() -> None:
    play = Play(store := MemoryStore())
    play.store_jobs([spec(f"job-{number}", At(NOW)) for number in range(MAX_WATCHED + 1)])
    play.scan_all()
    play.queue.purge()
    play.clock.advance(FIRST_RECHECK_MS)
    many, one = play.queue.due_watches()
    lost = one.runs[0]

    def fails(method: str, item: object) -> bool:
        return method == "watch" and isinstance(item, Watch) and lost in item.runs

    context = replace(play.context(), queue=with_outages(play.queue, fails))
    assert recheck(context, [many, one]) == [True, False]
    assert recheck(play.context(), [one]) == [True]
    assert len(store.runs) == MAX_WATCHED + 1


def test_a_watch_that_is_delivered_twice_leaves_one_watch() -> None:
    play = Play()
    play.store_jobs([spec("job", At(NOW))])
    play.scan_all()
    play.queue.watches *= 2
    _first_look(play)
    assert len(play.queue.watches) == 1


def test_a_row_that_has_expired_is_looked_up_three_times() -> None:
    play = Play(store := MemoryStore())
    _is_submitted(play)
    store.runs.clear()
    looks = 0
    while play.queue.watches:
        assert _first_look(play) == 0
        looks += 1
    assert looks == 3


def test_the_fires_of_a_second_are_watched_together() -> None:
    play = Play()
    play.store_jobs([spec(f"job-{number}", At(at(3))) for number in range(250)])
    play.scan_all()
    assert [len(watch.runs) for watch in play.queue.watches] == [100, 100, 50]
    assert {watch.at for watch in play.queue.watches} == {at(3) + FIRST_RECHECK_MS}


def test_a_run_is_still_watched_while_its_scan_hangs_between_the_send_and_the_drop_of_the_due_key() -> None:
    play = Play()
    _is_tried_again(play)
    (sent,) = [run for run in play.runs(KEY) if run.state is RunState.QUEUED]
    kept = replace(sent, due_at=sent.not_before)
    assert play.store.runs.swap([Swap(sent, kept)], play.clock.now())[0].done
    _first_look(play)
    standing = play.runs(KEY)[0]
    dropped = replace(standing, due_at=None)
    assert play.store.runs.swap([Swap(standing, dropped)], play.clock.now())[0].done
    play.queue.purge()
    assert _first_look(play) == 1


def test_a_run_sent_long_after_its_instant_is_checked_twenty_seconds_later_and_not_at_once() -> None:
    play = Play()
    play.store_jobs([spec("job", At(NOW - MINUTE_MS))])
    play.scan_all()
    assert [watch.at for watch in play.queue.watches] == [play.clock.now() + FIRST_RECHECK_MS]
