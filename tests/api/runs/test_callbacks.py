"""Complete, fail, heartbeat: the reports of the target of a callback run, and their effects."""

from typing import Any

import pytest

from tests.api.client import NOW, Api
from tests.api.runs.rows import CALLBACK, LEASE_MS, called, row, say, waiting
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run
from timeball.domain.model.runs.transitions import asked_to_stop
from timeball.domain.model.runs.values import Attempt, Outcome
from timeball.domain.time.instants import DAY_MS, SECOND_MS, format_instant
from timeball.engine.runs.attempts import INLINE_BYTES


def read(api: Api, run: Run) -> Any:
    return api.call("GET", f"/v1/runs/{run.id}").body


class TestWaiting:
    def test_a_run_shows_the_report_that_it_waits_for(self, api: Api) -> None:
        run = waiting(api)
        body = read(api, run)
        assert body["callback"] == {
            "until": format_instant(NOW + DAY_MS),
            "heartbeatSeconds": 60,
            "leaseUntil": format_instant(NOW + 60 * SECOND_MS),
            "execution": None,
        }
        (attempt,) = body["attempts"]
        assert (attempt["number"], attempt["outcome"], attempt["startedAt"]) == (1, None, format_instant(NOW))

    def test_without_heartbeats_an_attempt_has_its_whole_timeout(self, api: Api) -> None:
        run = waiting(api, timeoutSeconds=600, heartbeatSeconds=None)
        until = format_instant(NOW + 600 * SECOND_MS)
        assert read(api, run)["callback"] == {
            "until": until,
            "heartbeatSeconds": None,
            "leaseUntil": until,
            "execution": None,
        }

    def test_a_run_that_waits_for_no_report_shows_no_callback(self, api: Api) -> None:
        assert read(api, called(api))["callback"] is None
        done = waiting(api)
        assert say(api, done, "complete").body["callback"] is None


class TestComplete:
    def test_the_run_has_succeeded_and_its_result_is_kept(self, api: Api) -> None:
        run = waiting(api)
        api.clock.advance(30 * SECOND_MS)
        answer = say(api, run, "complete", result={"rows": 17, "of": ["ä", None]})
        assert (answer.status, answer.body["status"], answer.body["reason"]) == (200, "succeeded", None)
        body = read(api, run)
        assert body["result"] == {"httpStatus": None, "body": '{"rows":17,"of":["ä",null]}'}
        (attempt,) = body["attempts"]
        expected = {"number": 1, "outcome": "succeeded", "startedAt": format_instant(NOW), "httpStatus": None}
        assert {name: attempt[name] for name in expected} == expected
        assert attempt["finishedAt"] == body["finishedAt"] == format_instant(NOW + 30 * SECOND_MS)
        assert api.call("GET", f"/v1/jobs/{body['jobId']}").body["status"] == "completed"

    @pytest.mark.parametrize(
        ("fields", "result"),
        [({}, None), ({"result": None}, "null"), ({"result": ""}, '""'), ({"result": 0.5}, "0.5")],
    )
    def test_a_result_may_be_missing_or_any_json(self, api: Api, fields: dict[str, Any], result: str | None) -> None:
        run = waiting(api)
        assert say(api, run, "complete", **fields).status == 200
        assert read(api, run)["result"] == {"httpStatus": None, "body": result}

    def test_a_result_of_16_kb_is_kept_whole(self, api: Api) -> None:
        run = waiting(api)
        assert say(api, run, "complete", result="x" * 16_382).status == 200
        assert read(api, run)["result"]["body"] == f'"{"x" * 16_382}"'

    def test_the_same_report_twice_gets_the_same_answer(self, api: Api) -> None:
        run = waiting(api)
        first = say(api, run, "complete", result=1)
        after = row(api, str(run.id))
        api.clock.advance(SECOND_MS)
        again = say(api, run, "complete", result=1)
        assert (first.status, again.status, again.body) == (200, 200, first.body)
        assert row(api, str(run.id)) == after

    @pytest.mark.parametrize("results", [("a", "b" * 999), ("a" * 999, "b"), ("a" * 999, "b" * 999)])
    def test_another_result_for_the_same_attempt_changes_nothing(self, api: Api, results: tuple[str, str]) -> None:
        run = waiting(api)
        first, second = results
        say(api, run, "complete", result=first)
        answer = say(api, run, "complete", result=second)
        assert (answer.status, answer.body["type"]) == (409, "urn:timeball:problem:stale-attempt")
        assert read(api, run)["result"]["body"] == f'"{first}"'

    def test_a_report_that_overtakes_the_202_counts(self, api: Api) -> None:
        run = called(api, **CALLBACK)
        assert say(api, run, "complete", result="early").body["status"] == "succeeded"
        assert read(api, run)["result"] == {"httpStatus": None, "body": '"early"'}

    def test_a_report_after_the_lease_counts_if_no_scan_has_ended_the_attempt(self, api: Api) -> None:
        run = waiting(api)
        api.clock.advance(61 * SECOND_MS)
        assert say(api, run, "complete").body["status"] == "succeeded"

    def test_an_executors_timeout_does_not_hide_the_targets_report(self, api: Api) -> None:
        run = called(api, **CALLBACK)
        seen = Attempt(1, Outcome.TIMED_OUT, NOW, NOW, NOW + 1, error="It did not answer in full within 840 s.")
        api.store.attempts.insert([(run.id, seen)], NOW)
        say(api, run, "complete", result="done")
        body = read(api, run)
        assert [attempt["outcome"] for attempt in body["attempts"]] == ["succeeded"]
        assert body["result"]["body"] == '"done"'


class TestFail:
    def test_the_retry_policy_decides(self, api: Api) -> None:
        run = waiting(api, retryPolicy={"jitter": "none"})
        answer = say(api, run, "fail", error="It is on fire.")
        assert (answer.status, answer.body["status"]) == (200, "retrying")
        assert answer.body["nextAttemptAt"] == format_instant(NOW + 5 * SECOND_MS)
        (attempt,) = read(api, run)["attempts"]
        assert (attempt["outcome"], attempt["error"], attempt["httpStatus"]) == ("failed", "It is on fire.", None)

    # Fields of the job, fields of the report; the run's status and reason.
    @pytest.mark.parametrize(
        ("job", "word", "status", "reason"),
        [
            ({}, {}, "retrying", None),
            ({}, {"retriable": None}, "retrying", None),
            ({}, {"retriable": False}, "failed", "not_retriable"),
            ({"retryPolicy": {"retryOn": ["5xx"]}}, {}, "failed", "not_retriable"),
            ({"maxRetries": 0}, {"retriable": True}, "failed", "retries_exhausted"),
            ({"delivery": "at_most_once"}, {}, "failed", "at_most_once"),
        ],
    )
    def test_the_job_and_the_report_decide_about_a_retry(
        self, api: Api, job: dict[str, Any], word: dict[str, Any], status: str, reason: str | None
    ) -> None:
        answer = say(api, waiting(api, **job), "fail", **word)
        assert (answer.status, answer.body["status"], answer.body["reason"]) == (200, status, reason)

    def test_a_failure_without_an_error_says_that_the_target_reported_it(self, api: Api) -> None:
        run = waiting(api)
        say(api, run, "fail")
        assert read(api, run)["attempts"][0]["error"] == "The target reported that it failed."

    def test_a_long_error_is_kept_whole(self, api: Api) -> None:
        run = waiting(api, maxRetries=0)
        say(api, run, "fail", error="x" * 1000)
        assert read(api, run)["attempts"][0]["error"] == "x" * 1000
        (item,) = api.call("GET", "/v1/dead-letters").body["items"]
        assert item["error"] == "x" * INLINE_BYTES

    @pytest.mark.parametrize("max_retries", [0, 3])
    def test_the_same_report_twice_gets_the_same_answer(self, api: Api, max_retries: int) -> None:
        run = waiting(api, maxRetries=max_retries)
        first = say(api, run, "fail", error="no")
        assert (first.status, say(api, run, "fail", error="no").body) == (200, first.body)

    def test_the_targets_report_replaces_the_answer_that_the_executor_saw(self, api: Api) -> None:
        run = called(api, **CALLBACK, maxRetries=0)
        seen = Attempt(1, Outcome.FAILED, NOW, NOW, NOW + 1, 500, "The target answered with status 500.")
        api.store.attempts.insert([(run.id, seen)], NOW)
        say(api, run, "fail", error="No such customer.")
        (attempt,) = read(api, run)["attempts"]
        assert (attempt["error"], attempt["httpStatus"]) == ("No such customer.", None)

    def test_a_run_that_was_asked_to_stop_and_reports_that_it_did_is_cancelled(self, api: Api) -> None:
        run = waiting(api)
        api.put(asked_to_stop(run, Reason.RUN_CANCELLED))
        answer = say(api, run, "fail", error="Stopped.")
        assert (answer.body["status"], answer.body["reason"]) == ("cancelled", "run_cancelled")


class TestHeartbeat:
    def test_it_extends_the_lease(self, api: Api) -> None:
        run = waiting(api)
        api.clock.advance(50 * SECOND_MS)
        answer = say(api, run, "heartbeat")
        until = format_instant(NOW + 110 * SECOND_MS)
        assert (answer.status, answer.body["leaseUntil"], answer.body["cancelRequested"]) == (200, until, False)
        assert answer.body["callback"]["leaseUntil"] == until
        assert row(api, str(run.id)).lease_until == NOW + 110 * SECOND_MS

    def test_it_never_extends_the_lease_beyond_the_timeout_of_the_attempt(self, api: Api) -> None:
        run = waiting(api, timeoutSeconds=100)
        api.clock.advance(50 * SECOND_MS)
        assert say(api, run, "heartbeat").body["leaseUntil"] == format_instant(NOW + 100 * SECOND_MS)

    def test_its_answer_asks_the_target_to_stop(self, api: Api) -> None:
        run = waiting(api)
        assert api.call("POST", f"/v1/runs/{run.id}/cancel").status == 200
        answer = say(api, run, "heartbeat").body
        assert (answer["cancelRequested"], answer["reason"]) == (True, "run_cancelled")

    def test_it_leaves_the_lease_to_the_executor_while_the_call_is_under_way(self, api: Api) -> None:
        run = called(api, **CALLBACK)
        answer = say(api, run, "heartbeat")
        assert (answer.status, answer.body["callback"]) == (200, None)
        assert answer.body["leaseUntil"] == format_instant(NOW + LEASE_MS)
        assert row(api, str(run.id)) == run

    def test_a_heartbeat_after_the_lease_is_refused(self, api: Api) -> None:
        run = waiting(api)
        api.clock.advance(60 * SECOND_MS)
        answer = say(api, run, "heartbeat")
        assert (answer.status, answer.body["type"]) == (409, "urn:timeball:problem:lease-expired")
        assert answer.body["detail"].startswith("Attempt 1 sent no heartbeat in time")
        assert row(api, str(run.id)) == run
