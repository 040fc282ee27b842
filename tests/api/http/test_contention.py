"""A row that keeps changing while a request changes it: the 503 says that nothing was done, only where that is true."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.api.client import Answer, Api
from tests.api.jobs.changes import PATCH, PAUSE, RESUME, Change, ask
from tests.api.runs.rows import dead, say, waiting
from timeball.ports.rows import Swap, Swapped

CONTENDED = "The job or run changed while the request was processed, so nothing was done. Repeat the request."
CANCEL: Change = ("DELETE", "", None)


def job_change(change: Change) -> Callable[[Api], Callable[[], Answer]]:
    def given(api: Api) -> Callable[[], Answer]:
        job = api.create(everySeconds=3600)
        if change is RESUME:
            ask(api, job, PAUSE)
        return lambda: ask(api, job, change)

    return given


def word(verb: str) -> Callable[[Api], Callable[[], Answer]]:
    def given(api: Api) -> Callable[[], Answer]:
        run = waiting(api)
        api.clock.advance(1000)
        return lambda: say(api, run, verb)

    return given


def by_hand(verb: str) -> Callable[[Api], Callable[[], Answer]]:
    def given(api: Api) -> Callable[[], Answer]:
        api.create(everySeconds=3600)
        run = dead(api, api.create(everySeconds=3600)) if verb == "retry" else waiting(api)
        return lambda: api.call("POST", f"/v1/runs/{run.id}/{verb}")

    return given


REQUESTS = {
    "a patch": job_change(PATCH),
    "a pause": job_change(PAUSE),
    "a resume": job_change(RESUME),
    "a cancel": job_change(CANCEL),
    "a retry": by_hand("retry"),
    "a cancel of a run": by_hand("cancel"),
    "complete": word("complete"),
    "fail": word("fail"),
    "heartbeat": word("heartbeat"),
}


def moved_on(swaps: Sequence[Swap[Any]], _: int) -> list[Swapped[Any]]:
    """Answer every swap as if its row had another revision than was read."""
    return [Swapped(done=False, row=swap.before) for swap in swaps]


@pytest.mark.parametrize("given", REQUESTS.values(), ids=REQUESTS)
def test_a_request_on_a_row_that_keeps_changing_says_that_nothing_was_done_and_may_be_repeated(
    api: Api, given: Callable[[Api], Callable[[], Answer]], monkeypatch: pytest.MonkeyPatch
) -> None:
    request = given(api)
    before = (dict(api.store.jobs), dict(api.store.runs))
    with monkeypatch.context() as patched:
        patched.setattr(api.store.jobs, "swap", moved_on)
        patched.setattr(api.store.runs, "swap", moved_on)
        answer = request()
    assert (answer.status, answer.headers.get("Retry-After"), answer.body["detail"]) == (503, "1", CONTENDED)
    assert (dict(api.store.jobs), dict(api.store.runs)) == before
    assert request().status == 200


def test_a_trigger_that_finds_every_instant_taken_makes_no_run_and_says_so(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/v1/jobs/{api.create(delaySeconds=60)['jobId']}/trigger"
    assert api.call("POST", path).status == 201
    taken = [api.only_run()]
    with monkeypatch.context() as patched:
        patched.setattr(api.store.runs, "insert", lambda *_: taken)
        answer = api.call("POST", path)
    assert (answer.status, answer.headers.get("Retry-After"), answer.body["detail"]) == (503, "1", CONTENDED)
    assert list(api.store.runs.values()) == taken
    assert api.call("POST", path).status == 201


def test_a_change_that_is_written_and_not_settled_does_not_say_that_nothing_was_done(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = api.create(everySeconds=3600)
    write = api.store.jobs.swap

    def first_only(swaps: Sequence[Swap[Any]], now: int) -> list[Swapped[Any]]:
        return write(swaps, now) if swaps[0].before.intent is None else moved_on(swaps, now)

    with monkeypatch.context() as patched:
        patched.setattr(api.store.jobs, "swap", first_only)
        answer = ask(api, job, PAUSE)
    assert (answer.status, "does not know what was done" in answer.body["detail"]) == (503, True)
    assert api.call("GET", f"/v1/jobs/{job['jobId']}").body["status"] == "paused"
