"""One's own jobs in a rehearsal: canned answers, reports, real calls, time, and what ends a rehearsal."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.rehearsal.conftest import Receiver
from timeball.client import After, At, Cron, Every, Http, Job, Lambda, OnEvent, RunFailed, Sqs, StepFunctions, verify
from timeball.rehearsal import Called, Canned, NoAnswer, Rehearsal, RehearsalError, ReportsLater

URL = "https://app.example/report"
FUNCTION = "arn:aws:lambda:eu-west-1:123456789012:function:report"
SECRET = "whsec_" + "A" * 32


def ended(timeball: Rehearsal) -> tuple[str, int | None, str | None]:
    """Return how the one run of the job has ended: its state, and the status and the body of its last attempt."""
    (run,) = timeball.client.jobs.runs("report")
    last = timeball.client.runs.get(run.run_id).attempts[-1]
    return run.status, last.http_status, last.body


def put(timeball: Rehearsal, call: Any = URL, name: str = "report", **fields: Any) -> None:
    timeball.client.jobs.put(name, Job(call=call, **{"when": After(60), **fields}))


@pytest.mark.timeball(start="2027-03-27 12:00", tz="Europe/Berlin")
def test_a_job_of_the_hour_that_clocks_skip_runs_at_the_jump(timeball: Rehearsal) -> None:
    put(timeball, when=Cron("0 2 * * *", "Europe/Berlin"))
    timeball.answers(URL, [500, 200])
    calls = timeball.run_until("2027-03-29 06:00").of("report")
    assert calls.local() == ["2027-03-28 03:00", "2027-03-29 02:00"]
    assert calls.local("UTC") == ["2027-03-28 01:00", "2027-03-29 00:00"]
    assert (calls.attempts, calls.statuses) == ([1, 2, 1], [500, 200, 200])
    assert len(calls.run_ids) == 2
    assert timeball.now == datetime(2027, 3, 29, 4, tzinfo=UTC)


def test_the_clock_starts_with_the_year_2027_and_each_run_of_the_same_jobs_is_the_same() -> None:
    def played() -> Any:
        with Rehearsal() as rehearsal:
            assert rehearsal.now == datetime(2027, 1, 1, tzinfo=UTC)
            put(rehearsal, when=Every(600), jitter_seconds=60)
            rehearsal.answers(URL, [500, NoAnswer(), 200])
            return rehearsal.run_for(hours=2)

    assert played() == played()
    assert len(played()) > 12


def test_a_fire_at_the_end_of_a_stretch_belongs_to_it(timeball: Rehearsal) -> None:
    put(timeball, when=Cron("0 * * * *"))
    timeball.answers(URL, 200)
    assert timeball.run_until("2027-01-01 01:00").local() == ["2027-01-01 00:00", "2027-01-01 01:00"]
    assert timeball.run_for(timedelta(hours=1)).local() == ["2027-01-01 02:00"]
    assert len(timeball.calls) == 3


@pytest.mark.parametrize(
    ("answer", "status", "body"),
    [
        (204, 204, None),
        ({"rows": 17}, 200, '{"rows": 17}'),
        (Canned(201, "made", takes_seconds=40), 201, "made"),
        (lambda call: {"got": call.payload}, 200, '{"got": {"n": 1}}'),
        (httpx.MockTransport(lambda request: httpx.Response(202, content=request.content)), 202, '{"n":1}'),
    ],
)
def test_a_canned_answer_is_the_result_of_the_run(
    timeball: Rehearsal, answer: Any, status: int, body: str | None
) -> None:
    put(timeball, payload={"n": 1})
    timeball.answers("https://app.example", answer)
    (call,) = timeball.run_for(minutes=2)
    assert call.status == status
    assert ended(timeball) == ("succeeded", status, body)


def test_a_call_that_takes_longer_than_its_timeout_has_no_answer(timeball: Rehearsal) -> None:
    put(timeball, timeout_seconds=30, retries=0)
    timeball.answers(URL, Canned(takes_seconds=40))
    (call,) = timeball.run_for(minutes=2)
    assert call.status is None
    (run,) = timeball.client.jobs.runs("report")
    assert (run.status, run.reason) == ("failed", "retries_exhausted")


def test_a_retry_waits_as_long_as_the_answer_asks_for(timeball: Rehearsal) -> None:
    put(timeball)
    timeball.answers(URL, [Canned(503, headers={"Retry-After": "120"}), 200])
    first, second = timeball.run_for(minutes=5).times
    assert second - first >= timedelta(seconds=120)


def test_a_target_reports_later_and_keeps_its_attempt_by_heartbeats(timeball: Rehearsal) -> None:
    put(timeball, completion="callback", heartbeat_seconds=60, timeout_seconds=3600)
    timeball.answers(URL, ReportsLater(600, {"rows": 17}, heartbeat_seconds=30))
    timeball.run_for(minutes=5)
    (run,) = timeball.client.jobs.runs("report")
    assert run.status == "running"
    timeball.run_for(minutes=10)
    assert ended(timeball) == ("succeeded", None, '{"rows":17}')


def test_a_target_that_falls_silent_loses_its_attempt(timeball: Rehearsal) -> None:
    put(timeball, completion="callback", heartbeat_seconds=60, timeout_seconds=3600, retries=1)
    timeball.answers(URL, [ReportsLater(600), ReportsLater(10, error="No rows.")])
    assert timeball.run_for(minutes=20).attempts == [1, 2]
    (run,) = timeball.client.jobs.runs("report")
    assert run.status == "failed"


def test_ones_own_code_reports_when_its_time_has_come(timeball: Rehearsal) -> None:
    put(timeball, completion="callback")

    def accept(call: Called) -> int:
        received = verify(headers=call.headers, body=call.body, secret=SECRET)
        timeball.after(30, lambda: timeball.client.runs.complete(received.run_id, attempt=received.attempt))
        return 202

    timeball.secret("timeball/acme/report", SECRET)
    put(timeball, Http(URL, secret="timeball/acme/report"), completion="callback")
    timeball.answers(URL, accept)
    timeball.run_for(minutes=2)
    (run,) = timeball.client.jobs.runs("report")
    assert run.status == "succeeded"


def test_the_client_waits_in_virtual_time(timeball: Rehearsal) -> None:
    put(timeball, when=Cron("0 0 1 7 *"))
    timeball.answers(URL, [Canned(takes_seconds=20), 400])
    assert timeball.client.jobs.trigger("report").wait(timeout=60).status == "succeeded"
    assert timedelta(seconds=20) <= timeball.now - datetime(2027, 1, 1, tzinfo=UTC) < timedelta(seconds=60)
    with pytest.raises(RunFailed):
        timeball.client.jobs.trigger("report").wait(timeout=60)


def test_code_with_an_event_loop_has_a_client_too(timeball: Rehearsal) -> None:
    async def rehearse() -> str:
        put(timeball, when=Cron("0 0 1 7 *"))
        timeball.answers(URL, 200)
        triggered = await timeball.async_client.jobs.trigger("report")
        return (await triggered.wait(timeout=60)).status

    assert asyncio.run(rehearse()) == "succeeded"


def test_an_event_makes_a_run_of_the_jobs_whose_pattern_it_matches(timeball: Rehearsal) -> None:
    put(timeball, when=OnEvent({"source": ["shop"], "detail": {"total": [{"numeric": [">", 100]}]}}))
    timeball.answers(URL, 200)
    for total in (50, 250):
        timeball.client.request(
            "POST", "/v1/events", {"source": "shop", "id": str(total), "type": "order", "data": {"total": total}}
        )
    assert [call.payload["data"] for call in timeball.run_for(seconds=5)] == [{"total": 250}]


def test_children_follow_their_parents(timeball: Rehearsal) -> None:
    put(timeball, f"{URL}/extract", "extract", when=Cron("0 2 * * *"))
    put(timeball, f"{URL}/load", "load", when=None, depends_on=["extract"])
    timeball.answers(URL, 200)
    assert [call.job_id for call in timeball.run_for(days=1)] == ["extract", "load"]


def test_a_target_of_aws_answers_by_its_arn(timeball: Rehearsal) -> None:
    put(timeball, Lambda(FUNCTION), payload={"n": 1})
    timeball.answers(FUNCTION, [500, {"rows": 17}])
    calls = timeball.run_for(minutes=5).to(FUNCTION)
    assert (calls.statuses, calls.payloads) == ([500, 200], [{"n": 1}, {"n": 1}])


def test_a_followed_execution_ends_when_its_answer_says_so(timeball: Rehearsal) -> None:
    machine = "arn:aws:states:eu-west-1:123456789012:stateMachine:load"
    put(timeball, StepFunctions(machine, follow=True), retries=0)
    timeball.answers(machine, ReportsLater(600, error="The state failed."))
    timeball.run_for(minutes=5)
    (run,) = timeball.client.jobs.runs("report")
    assert run.status == "running"
    timeball.run_for(minutes=30)
    (run,) = timeball.client.jobs.runs("report")
    assert run.status == "failed"


def test_a_real_call_carries_the_virtual_time_which_stands_meanwhile(timeball: Rehearsal, receiver: Receiver) -> None:
    put(timeball, payload={"n": 1})
    asked: list[Any] = []
    receiver.meanwhile = lambda: asked.append(next(iter(timeball.client.jobs.runs("report"))))
    timeball.calls_for_real(receiver.url, instead_of="https://app.example")
    (call,) = timeball.run_for(minutes=2)
    (seen,) = receiver.seen
    assert (seen["path"], seen["body"], seen["Timeball-Now"]) == ("/report", '{"n":1}', "2027-01-01T00:01:00.000Z")
    assert (call.url, call.status, call.at) == (URL, 200, datetime(2027, 1, 1, 0, 1, tzinfo=UTC))
    assert [run.status for run in asked] == ["running"]


def test_a_receiver_that_is_not_there_refuses_the_connection(timeball: Rehearsal, receiver: Receiver) -> None:
    put(timeball, f"{receiver.url}/report", retries=0)
    timeball.calls_for_real(receiver.url)
    receiver.status = 503
    assert timeball.run_for(minutes=2).statuses == [503]
    timeball.calls_for_real("http://127.0.0.1:9", instead_of=receiver.url)
    put(timeball, f"{receiver.url}/other", "other", retries=0)
    assert timeball.run_for(minutes=2).statuses == [None]


def test_a_trial_asks_the_same_answers(timeball: Rehearsal) -> None:
    timeball.answers(URL, Canned(200, "hello", takes_seconds=2))
    tried = timeball.client.test_call(URL)
    assert tried.response is not None
    assert (tried.response.status, tried.response.body) == (200, "hello")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (URL, "called https://app.example/report, for which the rehearsal has no answer"),
        (Sqs("arn:aws:sqs:eu-west-1:123456789012:jobs"), "which cannot be called in a rehearsal"),
        (Http("https://signed.example", secret="timeball/acme/none"), "Give the rehearsal its value"),
    ],
)
def test_a_target_without_an_answer_ends_the_rehearsal(timeball: Rehearsal, call: Any, says: str) -> None:
    put(timeball, call)
    with pytest.raises(RehearsalError, match=says):
        timeball.run_for(minutes=2)


def test_an_error_of_ones_own_function_is_the_tests_error(timeball: Rehearsal) -> None:
    put(timeball, payload={"n": 1})

    def refuse(call: Called) -> None:
        assert call.payload == {"n": 2}

    timeball.answers(URL, refuse)
    with pytest.raises(AssertionError):
        timeball.run_for(minutes=2)


def test_a_202_needs_a_job_that_takes_reports(timeball: Rehearsal) -> None:
    put(timeball)
    timeball.answers(URL, ReportsLater(10))
    with pytest.raises(RehearsalError, match="takes no reports"):
        timeball.run_for(minutes=2)


def test_no_time_passes_within_a_call(timeball: Rehearsal) -> None:
    put(timeball)
    timeball.answers(URL, lambda _: len(timeball.run_for(hours=1)))
    with pytest.raises(RehearsalError, match="Time passes already"):
        timeball.run_for(minutes=2)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda one: one.calls_for_real("http://192.0.2.1:8000"), "is not on this machine"),
        (lambda one: one.calls_for_real("https://localhost"), "is not on this machine"),
        (lambda one: one.calls_for_real("ftp://localhost"), "cannot be called"),
        (lambda one: one.calls_for_real("http://localhost/", "https://app.example"), "both URLs end in a slash"),
        (lambda one: one.run_until("2026-12-31"), "is over: the clock of the rehearsal stands at 2027-01-01"),
        (lambda one: one.run_until("tomorrow"), "is no time"),
        (lambda one: one.run_until("2027-03-28 02:30", tz="Europe/Berlin"), "Clocks skip"),
        (lambda one: one.run_until("2027-03-28", tz="Berlin"), "is no time zone"),
        (lambda one: one.run_for(fortnights=1), "Give a timedelta"),
        (lambda one: one.run_for(hours=-1), "Time does not go back"),
        (lambda one: one.answers("app.example", 200), "is no target"),
        (lambda one: one.answers(URL, []), "is empty"),
        (lambda one: one.answers(URL, Canned(9)), "is no status of HTTP"),
        (lambda one: one.secret("timeball/acme/report", "hunter2"), "is no key"),
    ],
)
def test_a_rehearsal_refuses_what_it_cannot_do_with_a_sentence(timeball: Rehearsal, ask: Any, says: str) -> None:
    with pytest.raises(RehearsalError, match=says):
        ask(timeball)


def test_the_longest_url_that_fits_gives_the_answer(timeball: Rehearsal) -> None:
    for name in ("report", "report/a", "reports"):
        put(timeball, f"https://app.example/{name}", name.replace("/", "-"), retries=0)
    timeball.answers("https://app.example/", 204)
    timeball.answers(URL, 201)
    timeball.answers(f"{URL}/a", 200)
    assert {call.job_id: call.status for call in timeball.run_for(minutes=2)} == {
        "report": 201,
        "report-a": 200,
        "reports": 204,
    }


def test_a_one_off_at_an_instant_is_called_then(timeball: Rehearsal) -> None:
    put(timeball, when=At(datetime(2028, 2, 29, 12, tzinfo=UTC)))
    timeball.answers(URL, 200)
    assert timeball.run_for(days=800).times == [datetime(2028, 2, 29, 12, tzinfo=UTC)]
