"""Patterns: a typo is refused when the job is created, instead of silently matching nothing."""

from typing import Any

import pytest

from tests.api.client import Api
from timeball.api.events.fields import MAX_PATTERN

GOOD: list[dict[str, Any]] = [
    {"source": ["shop"]},
    {"source": [{"prefix": "shop/"}, {"suffix": "/eu"}, {"prefix": {"equals-ignore-case": "SHOP"}}]},
    {"detail": {"state": ["a", 1, True, None]}},
    {"detail": {"total": [{"numeric": [">", 0, "<=", 100]}], "note": [{"exists": False}]}},
    {"detail": {"state": [{"anything-but": ["a", "b"]}, {"anything-but": {"prefix": "x"}}]}},
    {"$or": [{"source": ["shop"]}, {"detail-type": [{"wildcard": "order.*"}]}]},
    {"detail": {"$or": [{"a": ["1"]}, {"b": ["2"]}]}},
    {"detail": {"ip": [{"cidr": "10.0.0.0/24"}], "name": [{"equals-ignore-case": "x"}]}},
    {"subject": ["eu"], "traceparent": [{"exists": True}]},
]

BAD: list[Any] = [
    {},
    [],
    "shop",
    {"source": "shop"},  # no array
    {"source": []},
    {"type": ["order.placed"]},  # EventBridge's name is detail-type
    {"data": {"total": [1]}},
    {"detailType": ["order.placed"]},
    {"detail": {}},
    {"detail": {"total": {}}},
    {"detail": {"total": [{"greater": 1}]}},
    {"detail": {"total": [{"prefix": "a", "suffix": "b"}]}},
    {"detail": {"total": [{"numeric": ["!=", 1]}]}},
    {"detail": {"total": [{"numeric": [">"]}]}},
    {"detail": {"total": [{"exists": "yes"}]}},
    {"detail": {"total": [{"prefix": 1}]}},
    {"detail": {"total": [[1]]}},
    {"$or": [{"source": ["shop"]}]},
    {"$or": [{"source": ["shop"]}, {"type": ["x"]}]},
    {"timeball": {"depth": [1]}},
    {"source": ["x" * MAX_PATTERN]},
]


@pytest.mark.parametrize("pattern", GOOD)
def test_a_valid_pattern_is_kept_and_shown_unchanged(api: Api, pattern: dict[str, Any]) -> None:
    job = api.create(event=pattern)
    assert job["event"] == pattern
    assert api.call("PATCH", f"/v1/jobs/{job['jobId']}", {"name": "x"}).body["event"] == pattern


@pytest.mark.parametrize("pattern", BAD)
def test_an_invalid_pattern_is_refused_and_nothing_is_created(api: Api, pattern: object) -> None:
    answer = api.call("POST", "/v1/jobs", {"handler": "https://example.com", "event": pattern})
    assert (answer.status, answer.bad_fields()) == (400, ["event"])
    assert (len(api.store.jobs), api.bus.rules()) == (0, [])
