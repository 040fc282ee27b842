"""The recipes of docs/how-to/get-told.md: the API takes each job, and its notices are what the services document."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest
from jsonschema import Draft202012Validator

from tests.api.client import NOW, Api
from tests.docs.readme import ROOT, read
from tests.patterns import matches
from tests.streams import Tape
from timeball.api.app import build_api
from timeball.api.lifecycle import event_of
from timeball.aws.dynamodb.stream import read_move
from timeball.domain.lifecycle import TYPES
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobSpec, with_spec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import Attempt, Outcome
from timeball.domain.model.terms.dependency import Blocked
from timeball.domain.model.terms.notify import News, RunEnd
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.run_ends.notices import as_posted, notice_of_block, notice_of_end, notices_ahead
from timeball.ports.target import Call
from timeball.targets.aws.allowed import parse_arns
from timeball.targets.aws.requests import request_of as request_to_aws
from timeball.targets.envelope import facts_of
from timeball.targets.http.request import request_of

PAGE = read(ROOT / "docs/how-to/get-told.md")
RECIPES = {
    name: json.loads(text) for name, text in re.findall(r"<!-- recipe: (\w+) -->\n```json\n(.*?)\n```", PAGE, re.DOTALL)
}
(RULE,) = re.findall(r"<!-- rule: mail -->\n```json\n(.*?)\n```", PAGE, re.DOTALL)
SERVICES = ROOT / "tests/docs/services"
TOPIC = "arn:aws:sns:eu-central-1:111122223333:oncall"
CONSOLE = "https://timeball.example/console"
KEY = JobKey("acme", "nightly-report")
RUN = RunId(KEY, NOW, Origin.SCHEDULE)
NAMES = (
    None,
    "Nightly report",
    '"}], "text": "<!channel>", "x": "',
    "\\",
    "{{payload}} {{jobId}} }}",
    "\r\n\x00\u2028\U0001f600" * 40,  # as long as a name may be
    "%%% ``` *_~ <https://evil.example|here>",
)


def _stored(name: str, named: str | None) -> Job:
    """Return the job of a recipe as the API stores it, with another name for people."""
    api = Api()
    api.handle = build_api(replace(api.edge, allowed=parse_arns(TOPIC, "Timeball")))
    assert api.call("PUT", f"/v1/jobs/{KEY.job_id}", RECIPES[name]).status == 201
    (job,) = api.store.jobs.read([KEY], with_work=True)
    assert job is not None
    return with_spec(job, name=named)


def _notices(job: Job) -> Iterator[JobSpec]:
    """Yield one notice of each kind that the job wants."""
    end = RunEnd(RUN, 4, Reason.RETRIES_EXHAUSTED, NOW)
    run = Run(RUN, RunState.QUEUED, 1, "normal", 0, NOW, NOW)
    found = [notice_of_end(job, news, end) for news in (News.FAILURE, News.RECOVERY)]
    found += [notice_of_block(job, Blocked(RUN, ()), NOW), *notices_ahead(job, run)]
    yield from filter(None, found)


def _sent(notice: JobSpec) -> tuple[str, Any]:
    """Return where a notice goes, and what is sent."""
    posted = as_posted(notice, CONSOLE)
    assert posted.work is not None
    call = Call(RunId(posted.key, NOW, Origin.SCHEDULE), 1, posted.work, 30, (), takes_report=False)
    if isinstance(posted.work.target, HttpTarget):
        request = request_of(call, NOW)
        assert request.headers["Content-Type"] == "application/json"
        return posted.work.target.url, json.loads(request.body or b"")
    return "mail", dict(request_to_aws(posted.work.target, call, facts_of(call)).arguments)


def _service(name: str, url: str) -> str:
    return "opsgenie-close" if urlsplit(url).path.endswith("/close") else name


@pytest.mark.parametrize("named", NAMES)
@pytest.mark.parametrize("name", RECIPES)
def test_each_notice_of_a_recipe_is_what_its_service_documents(name: str, named: str | None) -> None:
    sent = [_sent(notice) for notice in _notices(_stored(name, named))]
    assert len(sent) >= 3  # a failure, a block and a recovery at least
    for url, body in sent:
        schema = json.loads((SERVICES / f"{_service(name, url)}.json").read_text())
        Draft202012Validator.check_schema(schema)
        assert [error.message for error in Draft202012Validator(schema).iter_errors(body)] == []


@pytest.mark.parametrize("name", RECIPES)
def test_a_hostile_name_changes_nothing_but_texts(name: str) -> None:
    def shape(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: shape(one) for key, one in value.items()}
        return [shape(one) for one in value] if isinstance(value, list) else type(value)

    usual = [shape(_sent(one)[1]) for one in _notices(_stored(name, "Nightly report"))]
    for named in filter(None, NAMES):
        assert [shape(_sent(one)[1]) for one in _notices(_stored(name, named))] == usual


def test_the_name_of_a_job_is_said_as_it_is_and_alerts_no_channel() -> None:
    (_, body), *_ = (_sent(one) for one in _notices(_stored("slack", NAMES[2])))
    assert body["blocks"][0]["text"] == {"type": "plain_text", "text": f"{NAMES[2]}: failure retries_exhausted"}
    assert body["text"] == "nightly-report: failure"
    assert body["blocks"][1]["elements"][0]["text"].endswith(f"{CONSOLE}/#/runs/{RUN}")


def test_the_recovery_resolves_what_the_failure_has_opened() -> None:
    failure, recovery = (_sent(one)[1] for one in [*_notices(_stored("pagerduty", None))][:2])
    assert failure["dedup_key"] == recovery["dedup_key"] == "timeball-nightly-report"
    assert (failure["event_action"], recovery["event_action"]) == ("trigger", "resolve")
    assert failure["payload"]["custom_details"]["reason"] == "retries_exhausted"
    (_, opened), (url, _) = (_sent(one) for one in [*_notices(_stored("opsgenie", None))][:2])
    assert f"/alerts/{opened['alias']}/" in url.replace("{{payload.jobId}}", "nightly-report")


def test_the_rule_of_the_page_writes_a_sentence_about_a_failed_run() -> None:
    (rule,) = json.loads(RULE).values()
    last = Attempt(1, Outcome.FAILED, NOW, NOW, NOW, 503, "The target answered with status 503.")
    run = Run(RUN, RunState.FAILED, 1, "normal", 0, NOW, NOW, reason=Reason.RETRIES_EXHAUSTED, last=last)
    tape = Tape()
    tape.run(None, run, NOW)
    write = read_move(tape.records[0])
    assert write is not None
    event = event_of(write, TYPES, (), CONSOLE)
    assert event is not None
    envelope = {"source": "timeball.lifecycle", "detail-type": event.type, "detail": json.loads(event.detail)}
    pattern = json.dumps(rule["Properties"]["EventPattern"])
    assert matches(pattern, envelope)
    assert not matches(pattern, {**envelope, "detail-type": "timeball.run.succeeded"})
    (target,) = rule["Properties"]["Targets"]
    transformer = target["InputTransformer"]
    text = transformer["InputTemplate"]
    for name, path in transformer["InputPathsMap"].items():
        value: Any = envelope
        for step in path.removeprefix("$.").split("."):
            value = value[step]
        text = text.replace(f"<{name}>", value)
    assert text == (
        f'"The job nightly-report has failed. {Reason.RETRIES_EXHAUSTED.sentence} The target answered with status 503. '
        f'{CONSOLE}/#/runs/{RUN}"'
    )


def test_each_service_has_a_recipe_and_each_schema_a_source() -> None:
    assert [*RECIPES] == ["slack", "pagerduty", "mail", "datadog", "opsgenie"]
    schemas = [json.loads(path.read_text()) for path in SERVICES.glob("*.json")]
    assert all("https://" in schema["$comment"] for schema in schemas)
