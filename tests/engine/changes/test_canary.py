"""The canary's job is made, changed and ended with the deployment, and each of its runs that arrives is recorded."""

import pytest

from tests.engine.play import NOW, Play
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.target import LambdaTarget
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS, format_instant
from timeball.engine.changes.canary import JOB_ID, begin_canary, canary_spec, end_canary, note_canary
from timeball.engine.changes.change import pause
from timeball.engine.metrics import Metric

KEY = JobKey("main", JOB_ID)
ARN = "arn:aws:lambda:eu-central-1:111122223333:function:Timeball-canary"


def _run(play: Play, minutes: int) -> None:
    until = play.clock.now() + minutes * MINUTE_MS
    while play.clock.now() < until:
        play.scan_all()
        while play.execute_next():
            pass
        play.clock.advance(SECOND_MS)


def test_the_canary_runs_on_whole_multiples_of_its_interval_and_calls_its_function() -> None:
    play = Play()
    begin_canary(play.context(), canary_spec("main", 300, ARN))
    _run(play, 16)
    runs = play.runs(KEY)
    assert [run.id.fire_at % (5 * MINUTE_MS) for run in runs] == [0, 0, 0]
    assert {run.state for run in runs} == {RunState.SUCCEEDED}
    assert {call.work.target for _, call in play.caller.calls} == {LambdaTarget(ARN)}


@pytest.mark.parametrize("before", ["running", "paused", "cancelled"])
def test_a_new_interval_applies_and_a_canary_that_was_stopped_begins_again(before: str) -> None:
    play = Play()
    begin_canary(play.context(), canary_spec("main", 300, ARN))
    if before == "paused":
        pause(play.context(), [(KEY, None)])
    if before == "cancelled":
        end_canary(play.context(), "main")
    play.clock.advance(SECOND_MS)
    begin_canary(play.context(), canary_spec("main", 60, ARN))
    begun_at = play.clock.now()
    _run(play, 5)
    assert len([run for run in play.runs(KEY) if run.id.fire_at > begun_at and run.state is RunState.SUCCEEDED]) == 5


def test_with_its_resource_the_canary_ends_and_ending_none_does_nothing() -> None:
    play = Play()
    end_canary(play.context(), "main")
    begin_canary(play.context(), canary_spec("main", 60, ARN))
    end_canary(play.context(), "main")
    assert play.job(KEY).status is JobStatus.CANCELLED


def test_the_arrival_of_a_run_of_the_canary_is_recorded_and_that_of_another_job_is_not() -> None:
    play = Play()
    facts = {"tenant": "main", "jobId": JOB_ID, "fireTime": format_instant(NOW - 700)}
    assert note_canary(play.context(), "main", facts)
    assert note_canary(play.context(), "main", {**facts, "fireTime": format_instant(NOW + 300)}), "it came early"
    assert play.telemetry.timings.pop(Metric.CANARY_DELAY) == [700, 300]
    for other in ({**facts, "tenant": "acme"}, {**facts, "jobId": "job"}, {}):
        assert not note_canary(play.context(), "main", other)
    assert not play.telemetry.timings[Metric.CANARY_DELAY]
