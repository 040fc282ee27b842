"""What a run shows of its attempts is what became of them, whatever an executor thought that it saw."""

from dataclasses import replace

from tests.api.client import NOW, Api
from tests.api.run_rows import called
from timeball.domain.run import Attempt, Outcome, RunState

SEEN = Attempt(1, Outcome.SUCCEEDED, NOW, NOW, NOW, 200, body="the answer to a call whose lease was out")
FAILED = Attempt(2, Outcome.FAILED, NOW, NOW, NOW, 400, "The target answered with status 400.")


def test_a_result_is_shown_of_a_run_that_succeeded_and_of_no_other(api: Api) -> None:
    run = called(api)
    api.store.save_attempts([(run.id, SEEN)], NOW)
    api.put(replace(run, state=RunState.FAILED, attempt=2, last=FAILED, finished_at=NOW))
    assert api.call("GET", f"/v1/runs/{run.id}").body["result"] is None
