"""An event of AWS ends the run whose execution is over, and no other run."""

import pytest

from functions.events import report_ends
from tests.engine.runs.following import BROKEN, DONE, KEY, SECRET, execution_of, let_pass, run_of, started
from timeball.aws.executions import EndedExecution
from timeball.domain.attempts.callback_token import token_of
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.runs.run import RunState
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS


class TestAnEventOfItsEnd:
    def test_it_ends_the_run_before_the_first_poll(self) -> None:
        play = started()
        run = run_of(play)
        ended = EndedExecution(str(run.id), token_of(run.id, 1, SECRET), execution_of(run), DONE)
        assert report_ends(play.context(), [ended, None], lambda: (SECRET,)) == [True, True]
        last = run_of(play).last
        assert (run_of(play).state, last and last.body, play.executions.looks) == (RunState.SUCCEEDED, DONE.body, [])

    def test_a_late_or_repeated_event_changes_nothing(self) -> None:
        play = started(MINUTE_MS, BROKEN, DONE)
        run = run_of(play)
        broken = EndedExecution(str(run.id), token_of(run.id, 1, SECRET), execution_of(run), BROKEN)
        report_ends(play.context(), [broken, broken], lambda: (SECRET,))
        let_pass(play, 20 * SECOND_MS)
        assert (run_of(play).state, run_of(play).attempt) == (RunState.RUNNING, 2)
        report_ends(play.context(), [broken], lambda: (SECRET,))
        assert (run_of(play).state, run_of(play).attempt) == (RunState.RUNNING, 2)

    @pytest.mark.parametrize("token", ["", "tba_acme_1_" + "0" * 64, token_of(RunId(KEY, 1, Origin.SCHEDULE), 1, "s")])
    def test_an_event_without_the_token_of_its_attempt_is_ignored(self, token: str) -> None:
        play = started()
        run = run_of(play)
        assert report_ends(
            play.context(), [EndedExecution(str(run.id), token, execution_of(run), DONE)], lambda: (SECRET,)
        ) == [True]
        assert run_of(play).state is RunState.RUNNING

    def test_an_event_of_another_execution_with_the_same_input_is_ignored(self) -> None:
        play = started()
        run = run_of(play)
        child = EndedExecution(str(run.id), token_of(run.id, 1, SECRET), "a child of it", DONE)
        report_ends(play.context(), [child], lambda: (SECRET,))
        assert run_of(play).state is RunState.RUNNING
