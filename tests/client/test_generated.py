"""The generated half of the client is current, and its models read what the API sends, today and tomorrow."""

import inspect
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from docs.client import CLIENT, answers, generated, synchronous
from timeball.client import models
from timeball.client.answers import Answer, Identified, json_name

DOCUMENT = json.loads((Path(__file__).parents[2] / "docs/openapi.json").read_text(encoding="utf-8"))
RUN = {"runId": "report.1", "fireTime": "2027-03-28T03:00:00.000Z", "waits": {"overlapSeconds": 7}}


def test_every_generated_file_is_current() -> None:
    stale = [path.name for path, text in generated().items() if path.read_text(encoding="utf-8") != text]
    assert not stale, "Run: .venv/bin/python -m docs.client"


def test_the_sync_half_has_a_module_for_each_of_the_other() -> None:
    assert {path.name for path in (CLIENT / "sync").glob("*.py")} == {
        path.name for path in (CLIENT / "aio").glob("*.py")
    }


def test_code_loses_its_event_loop_and_nothing_else() -> None:
    source = "async def f(a: AsyncPages[T]) -> AsyncIterator[T]:\n    async for x in a:\n        yield await x\n"
    assert synchronous(source) == "def f(a: Pages[T]) -> Iterator[T]:\n    for x in a:\n        yield x\n"
    assert synchronous("asynchronous = awaiting") == "asynchronous = awaiting"


def _models() -> list[type[Answer]]:
    found = [one for _, one in inspect.getmembers(models, inspect.isclass) if issubclass(one, Answer)]
    return [one for one in found if one not in (Answer, Identified)]


def test_every_field_of_every_answer_has_its_name_in_the_api() -> None:
    schemas = answers(DOCUMENT)
    for model in _models():
        written = set(DOCUMENT["components"]["schemas"][model.__name__]["properties"])
        assert {json_name(name) for name in get_type_hints(model) if name != "raw"} == written, model
    assert {model.__name__ for model in _models()} == {name for name, one in schemas.items() if "properties" in one}


def _examples() -> list[tuple[str, Any]]:
    return [
        (content["schema"]["$ref"].rpartition("/")[2], content["example"])
        for item in DOCUMENT["paths"].values()
        for operation in item.values()
        for status, answer in operation["responses"].items()
        for content in [answer.get("content", {}).get("application/json", {})]
        if status < "3" and "$ref" in content.get("schema", {}) and "example" in content
    ]


def test_every_example_of_the_document_is_read_field_by_field() -> None:
    assert len(_examples()) > 50
    for name, example in _examples():
        _read(getattr(models, name)(example))


def _read(answer: Answer) -> None:
    """Read each field of an answer, and of its parts; a time is a time, and a part has its model."""
    for name, hint in get_type_hints(type(answer)).items():
        value = getattr(answer, name)
        text = str(hint)
        if name == "raw" or value is None:
            continue
        if "datetime" in text and "list" not in text:
            assert isinstance(value, datetime), (answer, name)
        parts = value if isinstance(value, list) else value.values() if isinstance(value, dict) else [value]
        for part in parts:
            if isinstance(part, Answer):
                _read(part)
            elif isinstance(part, dict):
                assert "Answer" not in text, (answer, name)


def test_a_field_that_a_newer_api_has_does_no_harm() -> None:
    run = models.RunAnswer({**RUN, "status": "dreaming", "mood": "good"})
    assert (run.status, run.raw["mood"]) == ("dreaming", "good")
    with pytest.raises(AttributeError, match="RunAnswer has no field 'mood'; `raw` has all"):
        run.mood  # type: ignore[attr-defined]  # noqa: B018 - the access is the test


def test_a_field_that_an_older_api_lacks_is_none_or_empty() -> None:
    run = models.RunDetailAnswer(RUN)
    assert (run.finished_at, run.attempts, run.id) == (None, [], "report.1")
    assert run.fire_time == datetime(2027, 3, 28, 3, tzinfo=UTC)


def test_a_target_of_a_type_that_this_client_does_not_know_is_read_too() -> None:
    job = models.JobAnswer({"jobId": "a", "target": {"type": "pigeon", "loft": 7}})
    assert job.target is not None
    assert job.target.raw == {"type": "pigeon", "loft": 7}
    known = models.JobAnswer({"jobId": "a", "target": {"type": "sqs", "queueArn": "arn:x"}})
    assert isinstance(known.target, models.SqsTargetAnswer)
    assert known.target.queue_arn == "arn:x"


def test_no_text_of_an_answer_has_a_secret_or_a_payload() -> None:
    key = models.NewKeyAnswer({"keyId": "acme.1", "key": "tb_s3cret", "role": "viewer"})
    session = models.NewSessionAnswer({"sessionId": "acme.1", "key": "tbs_s3cret"})
    code = models.SessionCodeAnswer({"code": "s3cret"})
    job = models.JobAnswer({"jobId": "a", "payload": {"card": "s3cret"}})
    assert key.key == "tb_s3cret"
    assert not [one for one in (key, session, code, job) if "s3cret" in repr(one)]
