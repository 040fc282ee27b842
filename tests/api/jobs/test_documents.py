"""A stored job as a request body: sent again it asks for the same job, and a patch changes the fields that it names."""

import json
from typing import Any

import pytest
from hypothesis import assume, given

from tests.api.client import NOW
from tests.api.http.strategies import SETTINGS, VALID_JOBS
from timeball.api.jobs.document import document_of
from timeball.api.jobs.patch import patched
from timeball.api.jobs.request import read_job_request
from timeball.api.jobs.spec import spec_of
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.time.instants import DAY_MS
from timeball.domain.time.schedule import first_fire

KEY = JobKey("acme", "job")


def asked_for(body: dict[str, Any], now: int) -> JobSpec:
    request, errors, _ = read_job_request(body, now)
    assert errors == []
    spec = spec_of(request, KEY, "print", now)
    assume(first_fire(spec.schedule, now) is not None)
    return spec


def test_a_jobs_document_asks_for_the_same_job_whenever_it_is_read() -> None:
    @SETTINGS
    @given(VALID_JOBS)
    def try_it(body: dict[str, Any]) -> None:
        spec = asked_for(body, NOW)
        document = document_of(spec)
        sent = json.loads(json.dumps(document))
        request, errors, _ = read_job_request(sent, NOW + DAY_MS)
        assert errors == []
        assert spec_of(request, KEY, "print", NOW + DAY_MS) == spec

    try_it()


CRON = {"cronExpression": "0 9 * * *", "timezone": "Europe/Berlin", "dstPolicy": {"gap": "skip"}}
EVERY = {"everySeconds": 60, "anchorAt": "2026-01-01T00:00:00Z"}
RECURRING = {
    "endAt": "2030-01-01T00:00:00Z",
    "maxRuns": 5,
    "catchUp": {"policy": "all", "maxRuns": 3},
    "jitterSeconds": 2,
}
AT = {"scheduleAt": "2030-01-01T00:00:00Z"}
HOOK = {"type": "http", "url": "https://a.example", "method": "PUT", "headers": {"X-A": "1", "X-B": "2"}}

# The document, the patch, the resulting document.
PATCHES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    # RFC 7396: the cases of its appendix that concern objects.
    "a value is replaced": ({"name": "b"}, {"name": "c"}, {"name": "c"}),
    "a value is added": ({"name": "b"}, {"tags": {"c": "d"}}, {"name": "b", "tags": {"c": "d"}}),
    "null removes": ({"name": "b", "priority": "low"}, {"name": None}, {"priority": "low"}),
    "null removes what is not there": ({"name": "b"}, {"priority": None}, {"name": "b"}),
    "an array takes an array's place": ({"payload": ["b"]}, {"payload": ["c", None]}, {"payload": ["c", None]}),
    "an object takes a value's place": ({"payload": "c"}, {"payload": {"b": 1}}, {"payload": {"b": 1}}),
    "a value takes an object's place": ({"payload": {"b": 1}}, {"payload": "c"}, {"payload": "c"}),
    "objects are merged": (
        {"payload": {"a": {"b": "c"}}},
        {"payload": {"a": {"b": "d", "c": None}}},
        {"payload": {"a": {"b": "d"}}},
    ),
    "no null of a new object stays": ({}, {"payload": {"a": {"bb": {"ccc": None}}}}, {"payload": {"a": {"bb": {}}}}),
    "null in a document stays": ({"payload": None}, {"name": "b"}, {"payload": None, "name": "b"}),
    "a header is removed": (
        {"target": HOOK},
        {"target": {"headers": {"X-A": None}}},
        {"target": {**HOOK, "headers": {"X-B": "2"}}},
    ),
    # fields that belong together
    "a handler takes the target's place": (
        {"target": HOOK},
        {"handler": "https://b.example"},
        {"handler": "https://b.example"},
    ),
    "a target takes the handler's place": ({"handler": "https://b.example"}, {"target": HOOK}, {"target": HOOK}),
    "two to call are left to be refused": (
        {"target": HOOK},
        {"handler": "h", "target": {"url": "u"}},
        {"handler": "h", "target": {**HOOK, "url": "u"}},
    ),
    "an interval takes a cron's place, and the window stays": (
        {**CRON, **RECURRING},
        {"everySeconds": 5},
        {"everySeconds": 5, **RECURRING},
    ),
    "a cron takes an interval's place": (
        {**EVERY, "maxRuns": 5},
        {"cronExpression": "* * * * *"},
        {"cronExpression": "* * * * *", "maxRuns": 5},
    ),
    "another period keeps the anchor": (EVERY, {"everySeconds": 5}, {**EVERY, "everySeconds": 5}),
    "another cron keeps the zone": (CRON, {"cronExpression": "@daily"}, {**CRON, "cronExpression": "@daily"}),
    "one time takes a recurring schedule's place": ({**CRON, **RECURRING}, AT, AT),
    "a delay takes a time's place": (AT, {"delaySeconds": 5}, {"delaySeconds": 5}),
    "a recurring schedule takes a time's place": (AT, CRON, CRON),
    "two schedules are left to be refused": (AT, {**CRON, "everySeconds": 5}, {**CRON, "everySeconds": 5}),
    "what the patch gives is never dropped": (CRON, {**AT, "maxRuns": 5}, {**AT, "maxRuns": 5}),
    "a null beside a new schedule is no schedule": (
        CRON,
        {"cronExpression": None, "everySeconds": 5},
        {"everySeconds": 5},
    ),
    "another catch-up has no count": (
        RECURRING | EVERY,
        {"catchUp": {"policy": "skip"}},
        RECURRING | EVERY | {"catchUp": {"policy": "skip", "maxRuns": None}},
    ),
    "a count that is given stays to be refused": (
        RECURRING | EVERY,
        {"catchUp": {"policy": "skip", "maxRuns": 4}},
        RECURRING | EVERY | {"catchUp": {"policy": "skip", "maxRuns": 4}},
    ),
    "the same catch-up keeps its count": (
        RECURRING | EVERY,
        {"catchUp": {"maxAgeSeconds": 9}},
        RECURRING | EVERY | {"catchUp": {"policy": "all", "maxRuns": 3, "maxAgeSeconds": 9}},
    ),
}


@pytest.mark.parametrize(("document", "patch", "after"), PATCHES.values(), ids=PATCHES)
def test_a_patch_changes_the_fields_that_it_names_and_those_that_depend_on_them(
    document: dict[str, Any], patch: dict[str, Any], after: dict[str, Any]
) -> None:
    before = json.dumps([document, patch])
    assert patched(document, patch) == after
    assert json.dumps([document, patch]) == before
