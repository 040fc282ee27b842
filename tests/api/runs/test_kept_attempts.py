"""The attempts that a run shows have their true outcome, whatever an executor saw."""

from dataclasses import replace

from tests.api.client import NOW, Api
from tests.api.runs.rows import called
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.runs.values import Attempt, Outcome

SEEN = Attempt(1, Outcome.SUCCEEDED, NOW, NOW, NOW, 200, body="the answer to a call whose lease was out")
FAILED = Attempt(2, Outcome.FAILED, NOW, NOW, NOW, 400, "The target answered with status 400.")


def test_only_a_run_that_succeeded_shows_a_result(api: Api) -> None:
    run = called(api)
    api.store.attempts.insert([(run.id, SEEN)], NOW)
    api.put(replace(run, state=RunState.FAILED, attempt=2, last=FAILED, finished_at=NOW))
    assert api.call("GET", f"/v1/runs/{run.id}").body["result"] is None


def test_hundreds_of_attempts_are_shown_and_only_the_newest_with_their_bodies(api: Api) -> None:
    run = called(api)
    body = "\x00" * 16 * 1024
    told = [(run.id, replace(FAILED, number=number, body=body)) for number in range(1, 401)]
    api.store.attempts.insert(told, NOW)
    api.put(
        replace(run, state=RunState.FAILED, attempt=400, last=replace(told[-1][1], body=body[:200]), finished_at=NOW)
    )
    answer = api.call("GET", f"/v1/runs/{run.id}")
    attempts = answer.body["attempts"]
    assert [one["number"] for one in attempts] == list(range(1, 401))
    assert {one["error"] for one in attempts} == {FAILED.error}
    assert [one["body"] is not None for one in attempts] == [False] * 368 + [True] * 32
    assert len(answer.text) < 4_000_000
