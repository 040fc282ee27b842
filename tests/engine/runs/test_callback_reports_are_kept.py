"""A target's report about its attempt is stored as a whole, or it is not answered with a 2xx."""

from dataclasses import replace

import pytest

from tests.engine.play import NOW, Play, spec
from tests.engine.runs.outcomes import DONE, outcome
from timeball.domain.model.ids import RunId
from timeball.domain.model.jobs.job import Completion, with_spec
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import Attempt, Outcome
from timeball.domain.time.schedule import At
from timeball.engine.runs.attempts import INLINE_BYTES
from timeball.engine.runs.callback import Report, report
from timeball.engine.runs.effects import Refusal
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap
from timeball.testing.faults import with_outages

ALIKE = "a" * 2 * INLINE_BYTES


def _handed_over() -> tuple[Play, RunId]:
    """Return a play in which a one-off's target has answered 202."""
    play = Play()
    (job,) = play.store_jobs([replace(spec("job", At(NOW)), completion=Completion.CALLBACK)])
    play.scan_all()
    play.caller.statuses = [202]
    play.drain()
    return play, play.runs(job.key)[0].id


def _say(play: Play, run_id: RunId, body: str | None = None, error: str | None = None) -> str:
    return outcome(report(play.context(), [Report(run_id, 1, error, body)])[0])


def _run(play: Play, run_id: RunId) -> Run:
    (run,) = play.store.runs.read([run_id])
    assert run is not None
    return run


def _bodies(play: Play, run_id: RunId) -> list[str | None]:
    return [attempt.body for attempt in play.store.attempts.of_run(run_id)]


def test_a_report_whose_result_could_not_be_stored_is_no_success_until_it_is_repeated() -> None:
    play, run_id = _handed_over()
    sound, play.store = play.store, with_outages(play.store, lambda name, _: name == "attempts.insert")
    with pytest.raises(UnavailableError):
        _say(play, run_id, ALIKE)
    play.store = sound
    assert (_run(play, run_id).state, _bodies(play, run_id)) == (RunState.SUCCEEDED, [])
    assert _say(play, run_id, ALIKE) is DONE
    assert _bodies(play, run_id) == [ALIKE]


@pytest.mark.parametrize("is_error", [False, True])
def test_reports_that_begin_alike_are_distinguished(is_error: bool) -> None:  # noqa: FBT001 - a case
    play, run_id = _handed_over()

    def say(text: str) -> str:
        return _say(play, run_id, error=text) if is_error else _say(play, run_id, text)

    assert say(ALIKE + "1") is DONE
    assert say(ALIKE + "2") is Refusal.STALE
    assert say(ALIKE + "1") is DONE


def test_a_report_replaces_the_result_that_an_executor_stored_of_its_attempt() -> None:
    play, run_id = _handed_over()
    seen = Attempt(1, Outcome.FAILED, NOW, NOW, NOW, 500, "The target answered with status 500.")
    play.store.attempts.insert([(run_id, seen)], NOW)
    assert _say(play, run_id, ALIKE) is DONE
    (kept,) = play.store.attempts.of_run(run_id)
    assert (kept.outcome, kept.body) == (Outcome.SUCCEEDED, ALIKE)


def test_a_repeated_report_is_accepted_although_its_job_no_longer_takes_reports() -> None:
    play, run_id = _handed_over()
    assert _say(play, run_id, "done") is DONE
    (job,) = play.store.jobs.read([run_id.job])
    assert job is not None
    answering = with_spec(job, completion=Completion.ANSWER)
    assert play.store.jobs.swap([Swap(job, answering)], NOW)[0].done
    assert _say(play, run_id, "done") is DONE
    assert _say(play, run_id, "something else") is Refusal.NOT_EXPECTED
