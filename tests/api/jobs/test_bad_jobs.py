"""An invalid job is refused with every bad field named, and nothing of it is stored or sent."""

import json
from typing import Any

import pytest

from tests.api.client import Api
from tests.api.jobs.bad_jobs import BAD_FIELDS
from tests.api.jobs.bad_policies import OK

# The case, the body, words of the detail.
MALFORMED: list[tuple[str, bytes, str]] = [
    ("nothing", b"", "empty"),
    ("blanks", b" \n", "empty"),
    ("half an object", b'{"handler":\n "x"', "line 2, column 5"),
    ("single quotes", b"{'a': 1}", "line 1, column 2"),
    ("a comma too many", b'{"a": 1,}', "line 1"),
    ("a byte order mark", b"\xef\xbb\xbf{}", "BOM"),
    ("no UTF-8", b'{"name": "\xff"}', "byte 10"),
    ("an array", b"[]", "an array"),
    ("a string", b'"x"', "a string"),
    ("null", b"null", "null"),
    ("a number", b"1", "a number"),
    ("true", b"true", "true or false"),
    ("a key given twice", b'{"handler": "a", "handler": "b"}', '"handler" occurs twice'),
    ("a key given twice deep down", b'{"payload": [{"a": 1, "a": 1}]}', '"a" occurs twice'),
    ("NaN", b'{"payload": NaN}', "NaN"),
    ("Infinity", b'{"payload": [-Infinity]}', "Infinity"),
    ("a float without end", b'{"payload": 1e999}', "1e999"),
    ("an integer without end", b'{"payload": ' + b"9" * 5000 + b"}", "5000 digits"),
    ("101 levels", b'{"payload": ' + b"[" * 100 + b"]" * 100 + b"}", "100 levels"),
    ("a million levels", b'{"payload": ' + b"[" * 1_000_000, "100 levels"),
    ("a million levels of objects", b'{"a":' * 200_000, "100 levels"),
]


def assert_refused(api: Api, status: int, slug: str, answer: Any) -> None:
    assert answer.status == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.body["type"] == f"urn:timeball:problem:{slug}"
    assert answer.body["status"] == status
    assert answer.body["instance"] == answer.headers["X-Request-Id"] == "request-1"
    assert answer.body["detail"].endswith(".")
    assert not api.store.jobs
    assert not api.store.runs
    assert not api.queue.sent


@pytest.mark.parametrize(
    ("body", "fields", "words"), [row[1:] for row in BAD_FIELDS], ids=[row[0] for row in BAD_FIELDS]
)
def test_all_bad_fields_are_named_and_nothing_is_stored(
    api: Api, body: dict[str, Any], fields: list[str], words: str
) -> None:
    answer = api.call("POST", "/v1/jobs", body)
    assert_refused(api, 400, "invalid-request", answer)
    assert sorted(set(answer.bad_fields())) == sorted(fields)
    first = next(error for error in answer.body["errors"] if error["field"] == fields[0])
    assert words in first["message"]
    assert all(error["message"].endswith((".", "?")) for error in answer.body["errors"])


@pytest.mark.parametrize(("raw", "words"), [row[1:] for row in MALFORMED], ids=[row[0] for row in MALFORMED])
def test_a_body_that_is_no_json_object_is_malformed_and_stores_nothing(api: Api, raw: bytes, words: str) -> None:
    answer = api.call("POST", "/v1/jobs", raw=raw)
    assert_refused(api, 400, "malformed-body", answer)
    assert words in answer.body["detail"]


def test_halves_of_surrogate_pairs_are_named_by_their_field(api: Api) -> None:
    raw = rb'{"handler": "https://example.com", "payload": {"a": ["\ud800"]}, "\udc00": 1, "name": "fine"}'
    answer = api.call("POST", "/v1/jobs", raw=raw)
    assert_refused(api, 400, "invalid-request", answer)
    assert answer.bad_fields() == ["payload", "\udc00"]


def test_whole_surrogate_pairs_are_characters(api: Api) -> None:
    raw = rb'{"handler": "https://example.com", "payload": "\ud83d\ude00"}'
    assert api.call("POST", "/v1/jobs", raw=raw).body["payload"] == "😀"


def test_a_payload_of_99_levels_is_accepted(api: Api) -> None:
    raw = b'{"handler": "https://example.com", "payload": ' + b"[" * 99 + b"]" * 99 + b"}"
    assert api.call("POST", "/v1/jobs", raw=raw).status == 201


@pytest.mark.parametrize("key", ["", " ", "a b", "ä", "x" * 256, "a\x7f"])
def test_a_bad_idempotency_key_is_named_beside_the_bad_fields(api: Api, key: str) -> None:
    answer = api.call("POST", "/v1/jobs", {"priority": "urgent", **OK}, headers={"Idempotency-Key": key})
    assert_refused(api, 400, "invalid-request", answer)
    assert answer.bad_fields() == ["priority", "Idempotency-Key"]


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1", "json", ""],
)
def test_a_body_of_another_content_type_is_refused(api: Api, content_type: str) -> None:
    answer = api.call("POST", "/v1/jobs", OK, headers={"Content-Type": content_type})
    assert_refused(api, 415, "unsupported-media-type", answer)


@pytest.mark.parametrize("content_type", ["application/json", "Application/JSON; charset=UTF-8", None])
def test_json_and_a_missing_content_type_are_accepted(api: Api, content_type: str | None) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}
    assert api.call("POST", "/v1/jobs", OK, headers=headers).status == 201


def test_a_body_may_be_base64_encoded(api: Api) -> None:
    text = json.dumps({**OK, "name": "Zürich"}, ensure_ascii=False)
    assert api.call("POST", "/v1/jobs", raw=text.encode(), as_base64=True).body["name"] == "Zürich"
    assert api.call("POST", "/v1/jobs", raw=text.encode("latin-1")).status == 400
