"""The reasons that dead letters are filtered by: all reasons for which a run fails for good, and no others."""

from dataclasses import replace

import pytest

from tests.api.client import NOW, Api
from tests.api.dead_letters.calls import deal
from tests.api.runs.rows import called, dead
from timeball.api.openapi.document import document
from timeball.domain.attempts.circuit_breaker import Admission
from timeball.domain.attempts.claim import after_circuit
from timeball.domain.attempts.recovery import doubtful
from timeball.domain.attempts.retry import after_attempt
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Guarantee, Job, JobStatus, with_spec
from timeball.domain.model.reason import FAILURES, Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import ended
from timeball.domain.model.runs.values import Attempt, Failed, Guarantor, Outcome
from timeball.domain.model.terms.policies import RetryPolicy
from timeball.engine.execution.claim import claim
from timeball.engine.runs.watch import MAX_DELIVERY_FAILURES, reconcile_messages

PATH = "/v1/dead-letters"


def answered(api: Api, status: int, retry: RetryPolicy | None = None, *, is_once: bool = False) -> Run:
    """Return a run whose target answered its first attempt with this status."""
    run, job = called_of(api)
    job = with_spec(
        job, retry=retry or job.spec.retry, delivery=Guarantee.AT_MOST_ONCE if is_once else job.spec.delivery
    )
    attempt, verdict = Attempt(1, Outcome.FAILED, NOW, NOW, NOW, status, "No."), Failed(may_retry=status >= 500)
    return after_attempt(run, job, attempt, verdict, NOW, Guarantor.MESSAGE)


def called_of(api: Api) -> tuple[Run, Job]:
    run = called(api)
    return run, api.store.jobs[run.id.job]


def waited_for_its_host(api: Api) -> Run:
    run, job = called_of(api)
    decision = after_circuit(replace(run, deferred_since=0), job, NOW, Admission(NOW + 1000, Reason.CIRCUIT_OPEN))
    assert decision.state is not None
    return ended(run, decision.state, NOW, Guarantor.MESSAGE, decision.reason)


def undeliverable(api: Api) -> Run:
    api.create()
    run = api.only_run()
    api.put(replace(run, due_at=None, delivery_failures=MAX_DELIVERY_FAILURES - 1))
    reconcile_messages(api.context, [run.id])
    return api.only_run()


def handed_too_much(api: Api) -> Run:
    parents = [f"p{number}" for number in range(17)]
    for name in parents:
        api.call("PUT", f"/v1/jobs/{name}", {"handler": "https://example.com/hook"})
    answer = Attempt(1, Outcome.SUCCEEDED, NOW, NOW, NOW, 200, body=f'"{"x" * 16_000}"')
    for run in list(api.store.runs.values()):
        api.put(replace(run, state=RunState.SUCCEEDED, due_at=None, last=answer))
    job = api.create(dependsOn=parents, triggerRule="anySucceeded", passParents=True)
    for name in parents:
        key = JobKey("acme", name)
        api.store.jobs[key] = replace(api.store.jobs[key], status=JobStatus.COMPLETED, next_fire_at=None)
    api.dispatch()
    (run,) = [run for run in api.store.runs.values() if run.id.job.job_id == job["jobId"]]
    (one,) = claim(api.context, [run.id], "executor")
    assert one.run is not None
    return one.run


def in_doubt_after_a_recovery(api: Api) -> Run:
    return doubtful(called(api), NOW)


WAYS = {
    Reason.NOT_RETRIABLE: lambda api: answered(api, 404),
    Reason.RETRIES_EXHAUSTED: lambda api: answered(api, 503, RetryPolicy(max_retries=0)),
    Reason.TOO_OLD: lambda api: answered(api, 503, RetryPolicy(max_age_seconds=0)),
    Reason.AT_MOST_ONCE: lambda api: answered(api, 503, is_once=True),
    Reason.HOST_DOWN: waited_for_its_host,
    Reason.PARENTS_TOO_LARGE: handed_too_much,
    Reason.UNDELIVERABLE: undeliverable,
    Reason.RECOVERY_IN_DOUBT: in_doubt_after_a_recovery,
}


@pytest.mark.parametrize("reason", FAILURES)
def test_each_offered_reason_fails_a_run_and_finds_it(api: Api, reason: Reason) -> None:
    run = WAYS[reason](api)
    assert (run.state, run.reason) == (RunState.FAILED, reason)
    api.put(run)
    assert [item["reason"] for item in api.call("GET", PATH, query={"reason": reason}).body["items"]] == [reason]
    assert deal(api, "discard", filter={"reason": reason}).body["done"] == 1


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason not in WAYS])
def test_a_reason_that_no_dead_letter_has_is_refused_with_the_possible_ones(api: Api, reason: Reason) -> None:
    dead(api, api.create(everySeconds=60))
    for answer in (
        api.call("GET", PATH, query={"reason": reason}),
        *(deal(api, verb, filter={"reason": reason}) for verb in ("replay", "discard")),
    ):
        assert answer.status == 400
        assert answer.body["errors"][0]["message"] == f"Give one of {', '.join(FAILURES)}."


def test_the_document_offers_the_same_reasons_in_the_query_and_in_the_body() -> None:
    (query,) = [one for one in document()["paths"][PATH]["get"]["parameters"] if one["name"] == "reason"]
    body = document()["components"]["schemas"]["DeadLetterFilter"]["properties"]["reason"]
    assert query["schema"]["enum"] == [str(reason) for reason in FAILURES]
    assert {"type": "string", "enum": query["schema"]["enum"]} in [body, *body.get("anyOf", ())]
