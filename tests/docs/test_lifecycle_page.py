"""docs/reference/lifecycle-events.md and the bodies of docs/reference/notifications.md say what the code does."""

import json
import re
from typing import Any

from tests.api.client import NOW, Api
from tests.docs.readme import ROOT, read
from tests.patterns import matches
from tests.streams import Tape
from timeball.api.lifecycle import LifecycleJob, event_of
from timeball.aws.dynamodb.stream import read_move
from timeball.domain.lifecycle import TYPES
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import Attempt, Outcome
from timeball.domain.templates.template import NOTICE_FIELDS

PAGE = read(ROOT / "docs/reference/lifecycle-events.md")
NOTIFICATIONS = read(ROOT / "docs/reference/notifications.md")


def _block(name: str) -> Any:
    (text,) = re.findall(rf"<!-- {name} -->\n```json\n(.*?)\n```", PAGE, re.DOTALL)
    return json.loads(text)


def _event(job_id: str) -> dict[str, Any]:
    """Return the event of the page as code makes it, in EventBridge's envelope."""
    last = Attempt(4, Outcome.FAILED, NOW, NOW, NOW, 503, "The target answered with status 503.")
    run = RunId(JobKey("acme", job_id), 1795312800000, Origin.SCHEDULE)
    tape = Tape()
    tape.run(
        None,
        Run(run, RunState.FAILED, 1, "normal", 0, NOW, NOW, attempt=4, reason=Reason.RETRIES_EXHAUSTED, last=last),
        NOW,
    )
    write = read_move(tape.records[0])
    assert write is not None
    event = event_of(write, TYPES, (), "https://timeball.example/console")
    assert event is not None
    return {"source": "timeball.lifecycle", "detail-type": event.type, "detail": json.loads(event.detail)}


def test_the_page_shows_an_event_as_it_comes() -> None:
    shown, comes = _block("event"), _event("nightly-report")
    data = comes["detail"]["data"]
    assert shown["detail"]["data"] == {name: data[name] for name in shown["detail"]["data"]}
    varying = ("id", "time", "sequence", "data")
    for one in (shown, comes):
        one["detail"] = {name: "" if name in varying else value for name, value in one["detail"].items()}
    assert shown == comes


def test_the_rule_of_the_page_gets_what_the_page_says() -> None:
    pattern = json.dumps(_block("rule"))
    assert matches(pattern, _event("billing-nightly"))
    assert not matches(pattern, _event("nightly-report"))


def test_the_page_lists_each_type_and_each_field_of_a_job() -> None:
    table = PAGE.partition("## Types")[2].partition("\n\nOne write")[0]
    assert {*re.findall(r"`((?:run|job)\.\w+)`", table)} == {*TYPES}
    told = PAGE.partition("The `data` of a job are")[2].partition("\n\n")[0]
    fields = {field.serialization_alias or "" for field in LifecycleJob.model_fields.values()} - {""}
    assert {*re.findall(r"`(\w+)`", told)} == fields


def test_the_body_on_the_page_is_accepted_and_the_page_lists_each_field() -> None:
    section = NOTIFICATIONS.partition("## A body of your own")[2].partition("\n## ")[0]
    (target,) = re.findall(r"```json\n(.*?)\n```", section, re.DOTALL)
    answer = Api().call(
        "PUT", "/v1/jobs/j", {"handler": "https://example.com", "notify": {"onFailure": json.loads(target)}}
    )
    assert answer.status == 201
    listed = {*re.findall(r"`\{\{(\w+)\}\}`", section.partition("| placeholder |")[2])}
    assert listed == {*NOTICE_FIELDS, "payload"}
