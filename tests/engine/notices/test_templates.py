"""The templates of a target of `notify` are filled in with the fields of the notice, at its call."""

import json

from tests.engine.notices.desk import Targets, begin
from tests.engine.service import Service, at
from tests.urls import url_of
from timeball.domain.model.terms.notify import Notify
from timeball.domain.model.terms.target import HttpTarget
from timeball.targets.http.request import HttpRequest, request_of

CHAT = HttpTarget(
    "https://told.example/failed?job={{jobId}}",
    headers={"X-Reason": "{{reason}}"},
    body='{"text": "{{jobName}}: {{type}} of {{runId}}", "attempts": {{attempts}}, "by": "{{blockedBy}}"}',
)
RESET = HttpTarget("https://told.example/recovered", body='{"text": "{{type}} {{reason}}", "all": {{payload}}}')


def _requests(service: Service) -> list[HttpRequest]:
    return [request_of(call, 0) for _, call in service.target.calls if "told.example" in url_of(call.work.target)]


def test_a_failure_and_a_recovery_are_told_in_the_words_of_the_user(service: Service, targets: Targets) -> None:
    targets.of_jobs = [503, 200]
    begin(service, Notify(on_failure=CHAT, on_recovery=RESET), name='Nightly "report"')
    service.until(at(3 * 60))
    failure, recovery = _requests(service)
    assert failure.url.request_target == "/failed?job=job"
    assert failure.headers["X-Reason"] == "retries_exhausted"
    body = json.loads(failure.body or b"")
    assert (body["attempts"], body["by"]) == (1, "")
    assert body["text"].startswith('Nightly "report": failure of job.')
    told = json.loads(recovery.body or b"")
    assert told["text"] == "recovery "
    assert (told["all"]["jobId"], told["all"]["jobName"]) == ("job", 'Nightly "report"')
