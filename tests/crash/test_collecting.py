"""Repeated requests are stopped anywhere: a unique key has one job, and collected requests have one run."""

from dataclasses import replace

import pytest

from tests.crash.promises import assert_all_is_well, assert_each_run_was_called_once, at_rest
from tests.crash.stage import Stage
from tests.engine.play import NOW, Play, spec
from tests.engine.service import KEY
from tests.engine.submitting import submit_once
from timeball.domain.model.ids import JobKey, Origin
from timeball.domain.model.jobs.job import Job, JobSpec, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.flow import Debounce, Flow, Unique, unique_key
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.planning.collecting import MOST_REQUESTS
from timeball.domain.time.instants import DAY_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule
from timeball.engine.runs.trigger import Trigger, Triggering, trigger

COLLECTS = Flow(debounce=Debounce(10, 60))


def _wanted(name: str, payload: str, flow: Flow, wait_ms: int) -> JobSpec:
    work = Work(HttpTarget("https://target.example/hook"), payload)
    return replace(spec(name, At(NOW + wait_ms)), work=work, flow=flow)


def _stored(play: Play) -> list[Job]:
    return [job for job in play.store.jobs.read([KEY, JobKey("acme", "b")]) if job is not None]


def _payloads(play: Play) -> list[str | None]:
    return [call.work.payload for _, call in play.caller.calls]


@pytest.mark.parametrize("is_out", [False, True])
@pytest.mark.parametrize("asked_again", [False, True])
def test_a_submit_under_a_unique_key_stopped_anywhere_leaves_at_most_one_job_and_exactly_one_after_the_next_submit(
    stage: Stage, *, asked_again: bool, is_out: bool
) -> None:
    """With `is_out`, the key stood for another job before, whose window is over."""
    flow, play = Flow(Unique("k", DAY_MS)), stage.play(NOW)
    if is_out:
        old = replace(_wanted("old", "0", Flow(Unique("k", 1)), 0), schedule=Schedule(At(NOW - DAY_MS)))
        submit_once(play.context(), old, "old")
        play.run_on(JobKey("acme", "old"))
        play.clock.advance(max(0, NOW + 2 * SECOND_MS - play.clock.now()))
        play.caller.calls.clear()

    def ask(play: Play, name: str = "job") -> Job:
        return submit_once(play.context(), _wanted(name, f'"{name}"', flow, 0), name)[1]

    for left in stage.crashes(play, ask, 10):
        left.clock.advance(stage.later_ms)
        stood = _stored(left)
        if asked_again:
            assert ask(left, "b").key == _stored(left)[0].key
        assert not stood or [job.key for job in stood] == [job.key for job in _stored(left)]
        assert len(_stored(left)) == (1 if asked_again else len(stood))
        for job in _stored(left):
            left.run_on(job.key, to_its_end=True)
            rest = at_rest(left, job)
            assert_each_run_was_called_once(rest)
            assert_all_is_well(rest)
        assert len(left.caller.calls) == len(_stored(left))


@pytest.mark.parametrize(("first", "second"), [(20, None), (None, 20), (20, 3600)])
def test_a_unique_key_has_the_window_of_the_request_that_stored_its_job(
    stage: Stage, first: int | None, second: int | None
) -> None:
    play = stage.play(NOW)

    def ask(play: Play, name: str, window: int | None) -> Job:
        return submit_once(play.context(), _wanted(name, f'"{name}"', Flow(Unique("k", window)), 0), name)[1]

    for left in stage.crashes(play, lambda play: ask(play, "job", first), 8):
        left.clock.advance(stage.later_ms)
        job = ask(left, "b", second)
        left.run_on(job.key, to_its_end=True)
        unique, (row,) = job.spec.flow.unique, left.store.uniques.read([unique_key("acme", "k")])
        assert unique is not None
        assert row is not None
        assert left.job(job.key).status is JobStatus.COMPLETED
        ends_at = None if unique.seconds is None else job.created_at + unique.seconds * SECOND_MS
        assert row.job_id == job.key.job_id
        assert ends_at is None or row.until is None or ends_at <= row.until + DAY_MS, "its row is kept for as long"
        stands = ends_at is not None and left.clock.now() < ends_at
        assert (ask(left, "c", second).key == job.key) is stands


def test_a_unique_key_without_a_window_outlasts_the_window_of_a_request_that_stored_nothing(stage: Stage) -> None:
    play, flows = stage.play(NOW), (Flow(Unique("k", 20)), Flow(Unique("k")))
    for left in stage.crashes(play, lambda play: submit_once(play.context(), _wanted("a", "1", flows[0], 0), "a"), 8):
        _, job = submit_once(left.context(), _wanted("b", "2", flows[1], 30 * DAY_MS), "b")
        (row,) = left.store.uniques.read([unique_key("acme", "k")])
        assert row is not None
        assert job.spec.flow == flows[0] or row.until is None, "else its row would expire before the job is over"


@pytest.mark.parametrize("asked_again", [False, True])
@pytest.mark.parametrize("collected_before", [False, True])
def test_a_collected_trigger_stopped_anywhere_counts_at_most_once_and_exactly_once_after_its_repeat(
    stage: Stage, *, collected_before: bool, asked_again: bool
) -> None:
    play = stage.play(NOW)
    play.store_jobs([replace(spec("job", Every(3600, NOW + 3_600_000)), flow=COLLECTS)])
    if collected_before:
        _trigger(play, "first")
        play.clock.advance(SECOND_MS)
    for left in stage.crashes(play, lambda play: _trigger(play, "second"), 8):
        left.clock.advance(stage.later_ms)
        if asked_again:
            assert _trigger(left, "second") in (Triggering.STARTED, Triggering.COLLECTED, Triggering.REPEATED)
        left.run_on(KEY)
        runs = [run for run in left.runs(KEY) if run.id.origin is Origin.MANUAL]
        count = sum(0 if run.collected is None else run.collected.count for run in runs)
        least = int(collected_before) + int(asked_again)
        assert least <= count <= int(collected_before) + 1
        assert _payloads(left)[-1:] == (['"second"'] if asked_again else _payloads(left)[-1:])
        assert [run.state for run in runs] == [RunState.SUCCEEDED] * len(runs)
        assert_each_run_was_called_once(at_rest(left, left.job(KEY)))
        assert_all_is_well(at_rest(left, left.job(KEY)))


@pytest.mark.parametrize("repeated", ["0", "50", "51"])
def test_a_trigger_that_drops_an_older_request_from_the_row_stopped_anywhere_lets_none_count_twice(
    stage: Stage, repeated: str
) -> None:
    play = stage.play(NOW)
    play.store_jobs([replace(spec("job", Every(3600, NOW + 3_600_000)), flow=COLLECTS)])
    for number in range(MOST_REQUESTS + 1):
        _trigger(play, str(number))
    for left in stage.crashes(play, lambda play: _trigger(play, "51"), 6):
        _trigger(left, repeated)
        (run,) = [run for run in left.runs(KEY) if run.id.origin is Origin.MANUAL]
        assert run.collected is not None
        before = MOST_REQUESTS + 1
        assert run.collected.count == before + 1 or (repeated != "51" and run.collected.count == before)
        _trigger(left, "1")
        assert left.runs(KEY)[0].collected == run.collected


def _trigger(play: Play, name: str) -> Triggering:
    asked = Trigger(KEY, f'"{name}"', has_payload=True, request=name, fingerprint=name)
    return trigger(play.context(), [asked])[0].outcome


@pytest.mark.parametrize("asked_again", [False, True])
def test_a_collected_submit_stopped_anywhere_puts_one_run_off_or_leaves_it(stage: Stage, *, asked_again: bool) -> None:
    flow, play = Flow(Unique("k"), Debounce(10, 60)), stage.play(NOW)

    def ask(play: Play, name: str) -> None:
        submit_once(play.context(), _wanted(name, f'"{name}"', flow, 10 * SECOND_MS), name)

    ask(play, "job")
    play.clock.advance(SECOND_MS)
    for left in stage.crashes(play, lambda play: ask(play, "b"), 8):
        if asked_again:
            ask(left, "b")
        left.clock.advance(stage.later_ms)
        left.run_on(KEY, to_its_end=True)
        assert len(_stored(left)) == 1
        assert left.job(KEY).status is JobStatus.COMPLETED
        assert _payloads(left) in (['"b"'], *([] if asked_again else [['"job"']]))
        assert_each_run_was_called_once(at_rest(left, left.job(KEY)))
        assert_all_is_well(at_rest(left, left.job(KEY)))


def test_a_claim_that_finds_a_newer_run_stopped_anywhere_starts_only_the_newer_one(stage: Stage) -> None:
    play = stage.play(NOW)
    timing = Schedule(Every(10, NOW), end_at=NOW + 10_000)
    play.store_jobs([replace(spec("job", timing), flow=Flow(supersede=True))])
    play.scan_all()
    play.clock.advance(10 * SECOND_MS)
    play.scan_all()
    for left in stage.crashes(play, lambda play: play.execute_next(), 4):
        left.clock.advance(stage.later_ms)
        left.run_on(KEY, to_its_end=True)
        older, newer = left.runs(KEY)
        assert older.state is RunState.SKIPPED
        assert older.reason in (Reason.REPLACED, Reason.MISFIRED), (
            "the newer run may be found only when the message comes again"
        )
        assert newer.state is RunState.SUCCEEDED
        assert_all_is_well(at_rest(left, left.job(KEY)))
