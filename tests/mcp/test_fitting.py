"""Answers for language models: small, without payloads, and honest about what was left out."""

import json
from typing import Any

import pytest

from timeball.mcp.fitting import MOST_BYTES, REDACTED, fitted

JOB: dict[str, Any] = {
    "jobId": "report",
    "owner": None,
    "tags": {},
    "scheduleRules": {"version": 1},
    "payload": {"card": "s3cret"},
    "target": {"type": "http", "url": "https://x.example/hook?token=s3cret", "body": "s3cret"},
    "notify": {
        "onFailure": {"type": "http", "url": "https://hooks.slack.com/s3cret"},
        "onLate": None,
        "afterFailures": 2,
    },
    "latestRun": {"result": "s3cret", "attempts": [{"number": 1, "body": "s3cret"}]},
}


def test_payloads_secrets_and_noise_are_left_out() -> None:
    assert json.loads(fitted(JOB)) == {
        "jobId": "report",
        "payload": REDACTED,
        "target": {"type": "http", "url": "https://x.example/hook?…", "body": REDACTED},
        "notify": {"onFailure": "set", "afterFailures": 2},
        "latestRun": {"result": REDACTED, "attempts": [{"number": 1, "body": REDACTED}]},
    }


def test_payloads_are_shown_to_those_that_ask_and_other_secrets_are_not() -> None:
    found = json.loads(fitted(JOB, show_payload=True))
    assert found["payload"] == {"card": "s3cret"}
    assert found["latestRun"]["attempts"][0]["body"] == "s3cret"
    assert found["target"]["url"].endswith("?…")
    assert found["notify"]["onFailure"] == "set"


@pytest.mark.parametrize(
    "found",
    [
        {"items": [{"jobId": f"job-{number}", "name": "ä" * 200} for number in range(50)]},
        {"error": "☃" * 100_000},
        {"payload": {f"field-{number}": "x" * 100 for number in range(1000)}},
        {"payload": [[["x" * 100] * 50] * 50] * 50},
        {"tags": {f"{'k' * 100}-{number}": "v" * 256 for number in range(50)}},
    ],
)
def test_an_answer_is_never_too_long(found: Any) -> None:
    text = fitted(found, show_payload=True)
    assert len(text.encode()) <= MOST_BYTES
    assert "…" in text


def test_what_is_cut_is_counted() -> None:
    jobs = [{"jobId": f"job-{number}", "name": "n" * 200} for number in range(50)]
    items = json.loads(fitted({"items": jobs}))["items"]
    assert len(items) < 50
    assert items[-1] == f"… {51 - len(items)} more"


def test_the_end_of_a_list_is_kept() -> None:
    assert json.loads(fitted({"items": [], "nextCursor": None})) == {"nextCursor": None}
