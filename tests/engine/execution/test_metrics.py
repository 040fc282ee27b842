"""Metrics of runs: how late each started, and how often and why runs were retried, taken over, or died."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.engine.play import NOW, PLAIN_RETRY, Play, spec
from tests.engine.service import KEY
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.job import Completion
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import ended
from timeball.domain.model.runs.values import Attempt, GateWaits, Guarantor, Outcome
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every
from timeball.engine.execution.claim import claim
from timeball.engine.metrics import Metric, moved
from timeball.engine.runs.callback import Report, report
from timeball.engine.runs.effects import change_runs
from timeball.engine.runs.watch import MAX_DELIVERY_FAILURES, recheck, reconcile_messages
from timeball.engine.scheduling.dispatch import dispatch
from timeball.ports.queue import Watch
from timeball.ports.rows import Swap, Swapped
from timeball.ports.telemetry import Measurement

WAITS = Run(RunId(KEY, NOW, Origin.SCHEDULE), RunState.QUEUED, 1, "normal", 0, NOW, NOW)
RUNS = replace(WAITS, state=RunState.RUNNING, attempt=1)
TRIED = replace(
    RUNS, state=RunState.RETRYING, first_started_at=NOW, last=Attempt(1, Outcome.TIMED_OUT, NOW), due_at=NOW
)
DIED = replace(RUNS, state=RunState.FAILED, first_started_at=NOW + 7, reason=Reason.TOO_OLD)

# Columns: a run before and after a write, what is counted, and the recorded lateness, if any.
MOVES = {
    "a claim": (WAITS, RUNS, None, None),
    "an attempt that is followed by another": (RUNS, TRIED, (Metric.RUNS_RETRIED, "timed_out"), 0),
    "the next one, which started long ago": (replace(TRIED, state=RunState.QUEUED), replace(TRIED), None, None),
    "an executor that vanished": (RUNS, replace(RUNS, attempt=2), (Metric.RUNS_TAKEN_OVER, "lost"), None),
    "a renewal of its lease": (RUNS, replace(RUNS, lease_until=NOW), None, None),
    "a run that failed for good": (RUNS, DIED, (Metric.DEAD_LETTERS, "too_old"), 7),
    "one that failed unstarted": (WAITS, replace(DIED, first_started_at=None), (Metric.DEAD_LETTERS, "too_old"), None),
    "its due key is dropped": (DIED, replace(DIED, revision=9), None, None),
    "somebody discards it": (DIED, replace(DIED, discarded_at=NOW), None, None),
    "its target takes it over": (RUNS, replace(RUNS, first_started_at=NOW + 40), None, 40),
}


@pytest.mark.parametrize("case", MOVES)
def test_a_move_is_recorded_once_and_with_its_reason(case: str) -> None:
    before, after, counted, late_ms = MOVES[case]
    play = Play()
    moved(play.context(), [Swap(before, after)], [Swapped(done=True, row=after)])
    assert play.telemetry.counts == ({} if counted is None else {counted: 1})
    assert _told(play) == ([] if late_ms is None else [late_ms])


def test_no_lateness_is_recorded_for_a_backfills_run_which_is_late_on_purpose() -> None:
    play, run_id = Play(), RunId(KEY, NOW, Origin.BACKFILL, "bf1")
    died = replace(DIED, id=run_id)
    moved(play.context(), [Swap(replace(RUNS, id=run_id), died)], [Swapped(done=True, row=died)])
    assert _told(play) == []


class _Kept:
    """Telemetry that keeps each event."""

    def __init__(self) -> None:
        self.events: list[Measurement] = []

    def note(self, events: Sequence[Measurement]) -> None:
        self.events += events


def _told(play: Play) -> list[int]:
    return play.telemetry.timings[Metric.LATENESS]


def test_the_lateness_of_a_run_is_recorded_once_however_often_it_is_tried() -> None:
    play = Play()
    play.store_jobs([spec("job", At(NOW))])
    play.scan_all()
    play.clock.advance(250)
    play.caller.statuses = [503] * 4
    for _ in range(4):
        play.drain()
        play.clock.advance(60 * SECOND_MS)
        play.scan_all()
    assert len(play.caller.calls) == 4
    assert _told(play) == [250]
    assert play.telemetry.counts == {
        (Metric.RUNS_RETRIED, "failed"): 3,
        (Metric.DEAD_LETTERS, "retries_exhausted"): 1,
    }


def test_the_age_at_claim_is_how_long_a_run_waited_for_an_executor() -> None:
    play = Play()
    play.store_jobs([spec("job", At(NOW))])
    play.scan_all()
    play.clock.advance(7 * SECOND_MS)
    play.drain()
    assert play.telemetry.timings[Metric.AGE_AT_CLAIM] == [7 * SECOND_MS]


def test_each_gate_that_held_a_run_is_recorded_with_its_wait() -> None:
    held = GateWaits(NOW + 900, parents=300, circuit=600)
    after = replace(DIED, gate_waits=held, claimed_at=NOW + 1_000)
    kept = _Kept()
    moved(replace(Play().context(), telemetry=kept), [Swap(RUNS, after)], [Swapped(done=True, row=after)])
    waited = {one.reason: one.value for one in kept.events if one.name == Metric.WAITED}
    assert waited == {"parents": 300, "circuit": 600}
    assert [one.value for one in kept.events if one.name == Metric.AGE_AT_CLAIM] == [100]


def test_runs_that_no_executor_claims_are_recorded_and_so_is_each_that_is_sent_again() -> None:
    play = Play()
    play.store_jobs([spec("job", At(NOW))])
    play.scan_all()
    (run,) = play.runs(KEY)
    for seconds, unclaimed in ((10, 0), (10, 1), (40, 2)):
        play.clock.advance(seconds * SECOND_MS)
        recheck(play.context(), [Watch((run.id,), play.clock.now(), 1)])
        assert play.telemetry.totals[Metric.RUNS_UNCLAIMED] == unclaimed
        assert play.telemetry.totals[Metric.WATCH_RESENDS] == unclaimed


def test_an_opening_circuit_is_recorded_once() -> None:
    play = Play()
    play.store_jobs([spec(f"job-{n}", At(NOW)) for n in range(play.rules.host_failures)])
    play.scan_all()
    play.caller.statuses = [503] * play.rules.host_failures
    play.drain()
    assert play.telemetry.totals[Metric.CIRCUITS_OPEN] == 1


def test_an_executor_records_the_most_runs_that_it_held() -> None:
    play = Play()
    play.store_jobs([spec(f"job-{n}", At(NOW)) for n in range(7)])
    play.scan_all()
    play.drain()
    assert (max(play.telemetry.timings[Metric.SLOTS_IN_USE]), {*play.telemetry.timings[Metric.SLOTS]}) == (7, {100})


def test_a_takeover_is_recorded_by_the_executor_that_takes_over() -> None:
    play = Play()
    play.store_jobs([spec("job", At(NOW))])
    play.scan_all()
    (delivery,) = play.queue.receive("normal")
    claim(play.context(), [delivery.run], "vanished")
    play.clock.advance(play.rules.lease_ms + play.rules.margin_ms)
    play.execute([delivery])
    assert play.telemetry.counts == {(Metric.RUNS_TAKEN_OVER, "lost"): 1}


def _handed_over(play: Play) -> RunId:
    play.store_jobs([replace(spec("job", At(NOW), PLAIN_RETRY, 60), completion=Completion.CALLBACK)])
    play.scan_all()
    play.caller.statuses = [202]
    play.drain()
    return play.runs(KEY)[0].id


def test_a_targets_report_is_recorded_and_its_lateness_when_it_accepted_the_run() -> None:
    play = Play()
    run = _handed_over(play)
    assert _told(play) == [0]
    report(play.context(), [Report(run, 1, "It broke.", may_retry=False)])
    assert _told(play) == [0]
    assert play.telemetry.counts == {(Metric.DEAD_LETTERS, "not_retriable"): 1}


def test_the_scan_records_a_target_that_never_reports() -> None:
    play = Play()
    _handed_over(play)
    play.clock.advance(90 * SECOND_MS)
    play.scan_all()
    assert play.telemetry.counts == {(Metric.RUNS_RETRIED, "timed_out"): 1}


def test_a_run_that_no_queue_delivers_is_recorded() -> None:
    play = Play()
    play.store_jobs([spec("job", At(NOW))])
    play.scan_all()
    (run,) = play.runs(KEY)
    play.store.runs.swap([Swap(run, replace(run, delivery_failures=MAX_DELIVERY_FAILURES - 1))], NOW)
    assert reconcile_messages(play.context(), [run.id]) == [True]
    assert play.telemetry.counts == {(Metric.DEAD_LETTERS, "undeliverable"): 1}


def test_of_two_writers_of_the_same_end_one_records_it() -> None:
    """Two processes that give up on a run in the same millisecond write the same row."""
    play = Play()
    play.store_jobs([spec("job", At(NOW))])
    play.scan_all()
    (run,) = play.runs(KEY)
    swap = Swap(run, ended(run, RunState.FAILED, NOW, Guarantor.MESSAGE, Reason.AT_MOST_ONCE))
    answers = [change_runs(play.context(), {run.id: None}, [swap], NOW)[0].done for _ in range(2)]
    assert answers == [True, False]
    assert play.telemetry.counts == {(Metric.DEAD_LETTERS, "at_most_once"): 1}


def test_fires_that_two_scans_skip_alike_are_recorded_once() -> None:
    play = Play()
    play.store_jobs([replace(spec("job", Every(10, NOW)), catch_up=CatchUp(CatchUpPolicy.SKIP))])
    (job,) = play.store.jobs.read([KEY])
    assert job is not None
    play.clock.advance(600 * SECOND_MS)
    for _ in range(2):
        dispatch(play.context(), [job], play.clock.now())
    assert play.telemetry.counts == {(Metric.FIRES_SKIPPED, "misfired"): play.runs(KEY)[0].count}
