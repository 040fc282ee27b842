"""Requests about dead letters that are refused, a table of bad bodies; and writes that fail."""

from typing import Any

import pytest

from tests.api.client import Api
from tests.api.dead_letters.calls import deal, every_verb, listed
from tests.api.runs.rows import dead, row
from timeball.ports.errors import UnavailableError

# The case, the body, the bad fields, words of the first one's message.
BAD: list[tuple[str, dict[str, Any], list[str], str]] = [
    ("nothing", {}, ["runIds"], "{}, matches all"),
    ("nulls", {"runIds": None, "filter": None}, ["runIds"], "{}, matches all"),
    ("both", {"runIds": ["job_1.5.s"], "filter": {}}, ["runIds"], "not both"),
    ("no names", {"runIds": []}, ["runIds"], "at least 1"),
    ("101 names", {"runIds": ["job_1.5.s"] * 101}, ["runIds"], "At most 100"),
    ("one name without a list", {"runIds": "job_1.5.s"}, ["runIds"], "an array"),
    (
        "names that no run has",
        {"runIds": ["job_1.5.s", "x", 5, "a.b.c"]},
        ["runIds.1", "runIds.2", "runIds.3"],
        "No run",
    ),
    ("a limit of names", {"runIds": ["job_1.5.s"], "limit": 5}, ["limit"], "only valid with filter"),
    ("a cursor of names", {"runIds": ["job_1.5.s"], "cursor": "x"}, ["cursor"], "only valid with filter"),
    ("a filter that is a word", {"filter": "all"}, ["filter"], "object"),
    ("an unknown filter", {"filter": {"job": "x"}}, ["filter.job"], "did you mean jobId"),
    ("no task's id", {"filter": {"taskId": "x y"}}, ["filter.taskId"], "No task can have this id"),
    ("a job that none is called", {"filter": {"jobId": "a.b"}}, ["filter.jobId"], "No job"),
    ("an unknown reason", {"filter": {"reason": "bad luck"}}, ["filter.reason"], "Give one of not_retriable"),
    ("an empty error", {"filter": {"error": ""}}, ["filter.error"], "at least 1"),
    ("a long error", {"filter": {"error": "x" * 201}}, ["filter.error"], "at most 200"),
    ("a bad time", {"filter": {"from": "yesterday"}}, ["filter.from"], "Write a time"),
    (
        "an end before the beginning",
        {"filter": {"from": "2026-11-21T00:00:00Z", "to": "2026-11-20T00:00:00Z"}},
        ["filter.to"],
        "before from",
    ),
    ("no limit at all", {"filter": {}, "limit": 0}, ["limit"], "at least 1"),
    ("a limit beyond reason", {"filter": {}, "limit": 1001}, ["limit"], "at most 1000"),
    ("a cursor that is a number", {"filter": {}, "cursor": 5}, ["cursor"], "string"),
    ("a cursor that is none", {"filter": {}, "cursor": "AAAA"}, ["cursor"], "nextCursor"),
    ("an unknown field", {"filter": {}, "dryRun": True}, ["dryRun"], "leave it out"),
    (
        "all at once",
        {"runIds": ["x"], "filter": {"reason": 1}, "limit": "1", "x": 1},
        ["runIds", "runIds.0", "filter.reason", "limit", "x"],
        "not both",
    ),
]


@every_verb
@pytest.mark.parametrize(("body", "fields", "words"), [bad[1:] for bad in BAD], ids=[bad[0] for bad in BAD])
def test_an_invalid_request_is_refused_with_its_bad_fields_and_does_nothing(
    api: Api, job: dict[str, Any], verb: str, body: dict[str, Any], fields: list[str], words: str
) -> None:
    run = dead(api, job, -1)
    answer = deal(api, verb, **body)
    assert (answer.status, sorted(answer.bad_fields())) == (400, sorted(fields)), answer.text
    assert words in next(error["message"] for error in answer.body["errors"] if error["field"] == fields[0])
    assert row(api, str(run.id)) == run


@pytest.mark.parametrize(
    ("verb", "pace", "words"),
    [
        ("replay", 0, "at least 1"),
        ("replay", 1001, "at most 1000"),
        ("replay", 0.5, "whole number"),
        ("discard", 5, "leave it out"),
    ],
)
def test_only_a_replay_takes_a_pace_and_the_pace_is_bounded(api: Api, verb: str, pace: object, words: str) -> None:
    answer = deal(api, verb, filter={}, perSecond=pace)
    assert (answer.status, answer.bad_fields()) == (400, ["perSecond"])
    assert words in answer.body["errors"][0]["message"]


@every_verb
@pytest.mark.parametrize(
    ("raw", "headers", "status"),
    [(b"", {}, 400), (b"[]", {}, 400), (b'{"filter": {}}', {"Content-Type": "text/csv"}, 415)],
)
def test_a_body_that_is_no_json_object_does_nothing(
    api: Api, job: dict[str, Any], verb: str, raw: bytes, headers: dict[str, str], status: int
) -> None:
    dead(api, job, -1)
    assert api.call("POST", f"/v1/dead-letters:{verb}", raw=raw, headers=headers).status == status
    assert len(listed(api)) == 1


@every_verb
def test_a_failed_write_is_a_503_and_the_request_may_be_repeated(
    api: Api, job: dict[str, Any], monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    dead(api, job, -1)

    def no_answer(*_: object) -> list[object]:
        raise UnavailableError("throttled")

    with monkeypatch.context() as patched:
        patched.setattr(api.store.runs, "swap", no_answer)
        assert deal(api, verb, filter={}).status == 503
    assert deal(api, verb, filter={}).body["done"] == 1
