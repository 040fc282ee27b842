"""Reports that are refused: about another attempt, a run without callbacks or of another tenant, or malformed."""

from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import Api
from tests.api.jobs.changes import patch
from tests.api.runs.rows import CALLBACK, LEASE_MS, called, row, say, waiting
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.runs.transitions import claimed
from timeball.domain.time.instants import SECOND_MS
from timeball.ports.errors import UnavailableError

VERBS = ["complete", "fail", "heartbeat"]
every_verb = pytest.mark.parametrize("verb", VERBS)


class TestRefusals:
    # The new state of the run; the words for it. The target was called with attempt 1.
    @every_verb
    @pytest.mark.parametrize(
        ("attempt", "state", "words"),
        [
            (2, RunState.RUNNING, "Attempt 1 is not under way: the run is running, at attempt 2; stop working on it."),
            (1, RunState.CANCELLED, "the run is cancelled, at attempt 1"),
            (2, RunState.QUEUED, "the run is queued, at attempt 2"),
        ],
    )
    def test_a_report_about_an_attempt_that_is_not_under_way_is_refused(
        self, api: Api, verb: str, attempt: int, state: RunState, words: str
    ) -> None:
        run = waiting(api)
        api.put(replace(run, attempt=attempt, state=state))
        before = dict(api.store.runs)
        answer = say(api, run, verb)
        assert (answer.status, answer.body["type"]) == (409, "urn:timeball:problem:stale-attempt")
        assert words in answer.body["detail"]
        assert api.store.runs == before

    @every_verb
    def test_a_report_about_an_attempt_that_was_never_made_is_refused(self, api: Api, verb: str) -> None:
        answer = say(api, waiting(api), verb, attempt=2)
        assert (answer.status, answer.body["type"]) == (409, "urn:timeball:problem:stale-attempt")

    def test_an_attempt_that_has_ended_accepts_no_other_report(self, api: Api) -> None:
        run = waiting(api)
        say(api, run, "complete")
        assert say(api, run, "fail").body["type"] == "urn:timeball:problem:stale-attempt"
        assert say(api, run, "heartbeat").body["type"] == "urn:timeball:problem:stale-attempt"

    @every_verb
    def test_a_run_whose_job_takes_no_callbacks_refuses_every_report(self, api: Api, verb: str) -> None:
        run = called(api)
        answer = say(api, run, verb)
        assert (answer.status, answer.body["type"]) == (409, "urn:timeball:problem:no-callback-expected")
        assert row(api, str(run.id)) == run

    @every_verb
    def test_a_run_that_was_called_before_its_job_stopped_taking_callbacks_accepts_reports(
        self, api: Api, verb: str
    ) -> None:
        job = api.create(**{**CALLBACK, "timeoutSeconds": 600, "everySeconds": 1})
        api.dispatch()
        run = next(iter(api.store.runs.values()))
        now = api.clock.now()
        api.put(replace(claimed(run, "executor", now, LEASE_MS), callback=waiting(api).callback))
        assert patch(api, job, completion="answer").status == 200
        assert say(api, run, verb).status == 200

    @every_verb
    def test_another_tenants_run_is_not_found_and_not_changed(self, api: Api, verb: str) -> None:
        run = waiting(api)
        answer = say(api, run, verb, tenant="globex")
        unknown = api.call("POST", f"/v1/runs/job_0.5.s/{verb}", {"attempt": 1})
        assert (answer.status, answer.body) == (404, unknown.body)
        assert row(api, str(run.id)) == run

    @every_verb
    @pytest.mark.parametrize("run_id", ["nope", "job_1.5.x", "job_1.05.s"])
    def test_an_unknown_run_is_not_found(self, api: Api, verb: str, run_id: str) -> None:
        assert api.call("POST", f"/v1/runs/{run_id}/{verb}", {"attempt": 1}).status == 404

    @every_verb
    def test_a_report_that_could_not_be_written_is_a_503_and_may_be_repeated(
        self, api: Api, monkeypatch: pytest.MonkeyPatch, verb: str
    ) -> None:
        run = waiting(api)
        api.clock.advance(SECOND_MS)

        def no_answer(*_: object) -> list[object]:
            raise UnavailableError("throttled")

        with monkeypatch.context() as patched:
            patched.setattr(api.store.runs, "swap", no_answer)
            assert say(api, run, verb).status == 503
        assert say(api, run, verb).status == 200

    @every_verb
    def test_a_report_whose_answer_was_lost_in_the_store_is_accepted(self, api: Api, verb: str) -> None:
        run = waiting(api)
        api.clock.advance(SECOND_MS)
        api.store.lose_answers(1)
        assert say(api, run, verb).status == 200


# The case, the verb, the body, the bad fields, words of the first one's message.
BAD: list[tuple[str, str, dict[str, Any], list[str], str]] = [
    *((f"no attempt to {verb}", verb, {}, ["attempt"], "Timeball-Attempt") for verb in VERBS),
    *((f"null to {verb}", verb, {"attempt": None}, ["attempt"], "Timeball-Attempt") for verb in VERBS),
    *((f"attempt 0 to {verb}", verb, {"attempt": 0}, ["attempt"], "at least 1") for verb in VERBS),
    *((f"an attempt in words to {verb}", verb, {"attempt": "1"}, ["attempt"], "whole number") for verb in VERBS),
    *((f"half an attempt to {verb}", verb, {"attempt": 1.5}, ["attempt"], "whole number") for verb in VERBS),
    *((f"true to {verb}", verb, {"attempt": True}, ["attempt"], "whole number") for verb in VERBS),
    *(
        (f"an unknown field to {verb}", verb, {"attempts": 1}, ["attempt", "attempts"], "Name the attempt")
        for verb in VERBS
    ),
    ("a result over 16 KB", "complete", {"attempt": 1, "result": "x" * 16_383}, ["result"], "16385 bytes"),
    ("a result over 16 KB in bytes", "complete", {"attempt": 1, "result": "ä" * 8_192}, ["result"], "16386 bytes"),
    ("a result of a failure", "fail", {"attempt": 1, "result": 1}, ["result"], "leave it out"),
    ("an error of a success", "complete", {"attempt": 1, "error": "x"}, ["error"], "leave it out"),
    ("an empty error", "fail", {"attempt": 1, "error": ""}, ["error"], "at least 1"),
    ("a long error", "fail", {"attempt": 1, "error": "x" * 1001}, ["error"], "at most 1000"),
    ("an object for an error", "fail", {"attempt": 1, "error": {}}, ["error"], "string"),
    ("a word for true", "fail", {"attempt": 1, "retriable": "no"}, ["retriable"], "true or false"),
    ("another spelling", "fail", {"attempt": 1, "retryable": False}, ["retryable"], "did you mean retriable"),
    ("a progress", "heartbeat", {"attempt": 1, "progress": 5}, ["progress"], "leave it out"),
    (
        "all at once",
        "fail",
        {"error": 5, "retriable": 1, "x": 1},
        ["attempt", "error", "retriable", "x"],
        "Name the attempt",
    ),
]


@pytest.mark.parametrize(("verb", "body", "fields", "words"), [bad[1:] for bad in BAD], ids=[bad[0] for bad in BAD])
def test_an_invalid_report_is_refused_with_every_bad_field_named(
    api: Api, verb: str, body: dict[str, Any], fields: list[str], words: str
) -> None:
    run = waiting(api)
    answer = api.call("POST", f"/v1/runs/{run.id}/{verb}", body)
    assert (answer.status, sorted(answer.bad_fields())) == (400, sorted(fields)), answer.text
    assert words in next(error["message"] for error in answer.body["errors"] if error["field"] == fields[0])
    assert row(api, str(run.id)) == run


@every_verb
@pytest.mark.parametrize(
    ("raw", "headers", "status"),
    [
        (b"", {}, 400),
        (b"[1]", {}, 400),
        (b"attempt=1", {}, 400),
        (b'{"attempt": 1}', {"Content-Type": "text/plain"}, 415),
    ],
)
def test_a_body_that_is_no_json_object_is_no_report(
    api: Api, verb: str, raw: bytes, headers: dict[str, str], status: int
) -> None:
    run = waiting(api)
    assert api.call("POST", f"/v1/runs/{run.id}/{verb}", raw=raw, headers=headers).status == status
    assert row(api, str(run.id)) == run
