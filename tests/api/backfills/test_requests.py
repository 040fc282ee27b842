"""Requests for backfills: the range, the dry run, what is refused, and one backfill for each Idempotency-Key."""

from typing import Any

import pytest

from tests.api.backfills.calls import HOURLY, IN_RANGE, RANGE, backfill, scan
from tests.api.client import Api
from timeball.domain.backfill import MAX_INSTANTS
from timeball.domain.model.jobs.job import RuleSet
from timeball.ports.errors import UnavailableError

# The job's schedule, the range, the fire times. It is 2026-11-21T09:30:00.250Z.
RANGES: dict[str, tuple[dict[str, Any], str, str, list[str]]] = {
    "the beginning is part of it, the end is not": (HOURLY, "2026-11-20T00:00:00Z", "2026-11-20T03:00:00Z", IN_RANGE),
    "between two fires": (HOURLY, "2026-11-20T00:00:00.001Z", "2026-11-20T02:00:00.001Z", IN_RANGE[1:]),
    "now at the latest end": (HOURLY, "2026-11-21T09:00:00Z", "2026-11-21T09:30:00.250Z", ["2026-11-21T09:00:00.000Z"]),
    "before the job's window": (
        {**HOURLY, "startAt": "2026-12-01T00:00:00Z", "maxRuns": 1},
        "2026-11-20T00:00:00Z",
        "2026-11-20T03:00:00Z",
        IN_RANGE,
    ),
    "before the interval's anchor": (
        {"everySeconds": 3600, "anchorAt": "2026-12-01T00:30:00Z"},
        "2026-11-20T00:00:00Z",
        "2026-11-20T01:00:00Z",
        ["2026-11-20T00:30:00.000Z"],
    ),
    "in the job's zone": (
        {"cronExpression": "0 9 * * *", "timezone": "Europe/Berlin"},
        "2026-10-24T00:00:00Z",
        "2026-10-26T00:00:00Z",
        ["2026-10-24T07:00:00.000Z", "2026-10-25T08:00:00.000Z"],
    ),
    "a one-off's only time": (
        {"scheduleAt": "2026-11-21T09:30:00Z"},
        "2026-11-21T09:30:00Z",
        "2026-11-21T09:30:00.001Z",
        ["2026-11-21T09:30:00.000Z"],
    ),
}


class TestDryRuns:
    @pytest.mark.parametrize(("schedule", "from_", "to", "instants"), RANGES.values(), ids=RANGES)
    def test_a_dry_run_shows_the_instants_of_the_range_and_stores_nothing(
        self, api: Api, schedule: dict[str, Any], from_: str, to: str, instants: list[str]
    ) -> None:
        job = api.create(**schedule)
        runs = dict(api.store.runs)
        answer = backfill(api, job, dryRun=True, overlapPolicy="skip", **{"from": from_, "to": to})
        assert answer.status == 200, answer.text
        assert answer.body == {
            "dryRun": True,
            "jobId": job["jobId"],
            "from": instants[0],
            "to": instants[-1],
            "total": len(instants),
            "instants": instants,
            "paceSeconds": 1,
            "overlapPolicy": "skip",
            "graph": False,
            "scheduleRules": {"version": RuleSet().version, "tzdata": RuleSet().tzdata},
        }
        assert not api.store.backfills
        assert api.store.runs == runs

    def test_it_creates_the_runs_that_the_dry_run_showed(self, api: Api) -> None:
        job = api.create(**HOURLY)
        dry = backfill(api, job, dryRun=True).body
        backfill(api, job, paceSeconds=0)
        scan(api)
        rows = api.call("GET", f"/v1/jobs/{job['jobId']}/runs").body["items"]
        assert sorted(row["fireTime"] for row in rows) == dry["instants"]

    def test_only_the_first_thousand_instants_are_shown(self, api: Api) -> None:
        job = api.create(everySeconds=1)
        answer = backfill(api, job, dryRun=True, to="2026-11-20T02:46:40Z").body
        assert (answer["total"], len(answer["instants"])) == (MAX_INSTANTS, 1000)
        assert (answer["from"], answer["to"]) == ("2026-11-20T00:00:00.000Z", "2026-11-20T02:46:39.000Z")

    def test_a_dry_run_does_not_use_up_its_idempotency_key(self, api: Api) -> None:
        job = api.create(**HOURLY)
        assert backfill(api, job, dryRun=True, key="k").status == 200
        made = backfill(api, job, key="k")
        assert (made.status, "Idempotency-Replayed" in made.headers) == (201, False)
        assert backfill(api, job, dryRun=True, key="k").status == 200


# The case, the fields beside a valid range, the bad fields, words of the first one's message.
BAD: list[tuple[str, dict[str, Any], list[str], str]] = [
    ("no range", {"from": None, "to": None}, ["from", "to"], "beginning of the range"),
    ("no end", {"to": None}, ["to"], "now at the latest"),
    ("no time", {"from": "yesterday", "to": 5}, ["from", "to"], "Write a time"),
    ("a time without an offset", {"from": "2026-11-20T00:00:00"}, ["from"], "offset"),
    ("an end in the future", {"to": "2026-11-21T09:30:00.251Z"}, ["to"], "a backfill is of the past"),
    ("an end at the beginning", {"to": RANGE["from"]}, ["to"], "is not after from"),
    ("an end before the beginning", {"to": "2026-11-19T00:00:00Z"}, ["to"], "is not after from"),
    ("a range of the future", {"from": "2030-01-01T00:00:00Z", "to": "2031-01-01T00:00:00Z"}, ["to"], "of the past"),
    (
        "an empty range",
        {"from": "2026-11-20T00:30:00Z", "to": "2026-11-20T01:00:00Z"},
        ["from"],
        "; the last one before it is 2026-11-20T00:00:00.000Z; the next one after it is 2026-11-20T01:00:00.000Z.",
    ),
    (
        "too many instants",
        {"from": "2024-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"},
        ["to"],
        f"at least {MAX_INSTANTS + 1} fire times, and a backfill may have {MAX_INSTANTS}; end it at 2025-02-20T16:00",
    ),
    ("a pace below none", {"paceSeconds": -1}, ["paceSeconds"], "at least 0"),
    ("a pace of more than a day", {"paceSeconds": 86_401}, ["paceSeconds"], "at most 86400"),
    ("half a second", {"paceSeconds": 0.5}, ["paceSeconds"], "whole number"),
    ("an unknown overlap", {"overlapPolicy": "buffer"}, ["overlapPolicy"], "'queueOne'"),
    ("a word for true", {"dryRun": "yes"}, ["dryRun"], "true or false"),
    ("a number for true", {"dryRun": 1}, ["dryRun"], "true or false"),
    ("unknown fields", {"start": 1, "dry_run": True}, ["dry_run", "start"], "did you mean dryRun"),
    (
        "all at once",
        {"from": 1, "to": "2030-01-01T00:00:00Z", "dryRun": 0, "paceSeconds": "1", "overlapPolicy": 2, "x": 3},
        ["from", "to", "dryRun", "paceSeconds", "overlapPolicy", "x"],
        "Write a time",
    ),
]


class TestRefusing:
    @pytest.mark.parametrize("is_dry", [True, False])
    @pytest.mark.parametrize(("fields", "bad", "words"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
    def test_an_invalid_backfill_is_refused_with_its_bad_fields_and_stores_nothing(
        self, api: Api, fields: dict[str, Any], bad: list[str], words: str, *, is_dry: bool
    ) -> None:
        answer = backfill(api, api.create(**HOURLY), **{"dryRun": is_dry, **fields})
        assert (answer.status, answer.body["type"]) == (400, "urn:timeball:problem:invalid-request")
        assert sorted(answer.bad_fields()) == sorted(bad)
        assert words in next(error["message"] for error in answer.body["errors"] if error["field"] == bad[0])
        assert not api.store.backfills

    def test_a_range_before_or_after_all_fires_is_refused_with_the_nearest_fire(self, api: Api) -> None:
        job = api.create(scheduleAt="2026-11-20T00:00:00Z")
        early = backfill(api, job, **{"from": "2026-11-19T00:00:00Z", "to": "2026-11-20T00:00:00Z"})
        late = backfill(api, job, **{"from": "2026-11-20T00:00:00.001Z", "to": "2026-11-21T00:00:00Z"})
        assert [answer.body["errors"][0]["message"] for answer in (early, late)] == [
            "The schedule has no fire time in this range; the next one after it is 2026-11-20T00:00:00.000Z.",
            "The schedule has no fire time in this range; the last one before it is 2026-11-20T00:00:00.000Z.",
        ]

    def test_a_bad_key_is_named_beside_the_bad_fields(self, api: Api) -> None:
        answer = backfill(api, api.create(**HOURLY), key="a b", paceSeconds=-1)
        assert (answer.status, answer.bad_fields()) == (400, ["paceSeconds", "Idempotency-Key"])

    @pytest.mark.parametrize("raw", [b"", b"[]", b"{"])
    def test_a_body_that_is_no_json_object_is_malformed(self, api: Api, raw: bytes) -> None:
        job = api.create(**HOURLY)
        answer = api.call("POST", f"/v1/jobs/{job['jobId']}/backfills", raw=raw)
        assert (answer.status, answer.body["type"]) == (400, "urn:timeball:problem:malformed-body")


class TestIdempotency:
    def test_the_same_key_and_body_make_one_backfill(self, api: Api) -> None:
        job = api.create(**HOURLY)
        first = backfill(api, job, key="k")
        api.clock.advance(5000)
        again = backfill(api, job, key="k", paceSeconds=1, dryRun=False, overlapPolicy=None)
        assert (again.status, again.headers["Idempotency-Replayed"]) == (201, "true")
        assert "Idempotency-Replayed" not in first.headers
        assert again.headers["Location"] == first.headers["Location"]
        assert again.body == {**first.body, "started": 1, "remaining": 2}

    @pytest.mark.parametrize(
        "other",
        [
            {"from": "2026-11-20T01:00:00Z"},
            {"to": "2026-11-20T04:00:00Z"},
            {"to": "2026-11-20T00:30:00Z"},
            {"from": "2026-11-20T00:30:00Z", "to": "2026-11-20T01:00:00Z"},
            {"from": "2020-01-01T00:00:00Z"},
            {"paceSeconds": 2},
            {"overlapPolicy": "skip"},
        ],
    )
    def test_the_same_key_with_another_body_is_a_conflict(self, api: Api, other: dict[str, Any]) -> None:
        job = api.create(**HOURLY)
        backfill(api, job, key="k")
        answer = backfill(api, job, key="k", **other)
        assert (answer.status, answer.body["type"]) == (422, "urn:timeball:problem:idempotency-conflict")
        assert len(api.store.backfills) == 1

    @pytest.mark.parametrize("change", [("PATCH", "", {"cronExpression": "30 * * * *"}), ("DELETE", "", None)])
    def test_a_repeat_finds_its_backfill_even_if_the_job_has_changed_or_ended(
        self, api: Api, change: tuple[str, str, Any]
    ) -> None:
        job = api.create(**HOURLY)
        first = backfill(api, job, key="k")
        method, suffix, body = change
        assert api.call(method, f"/v1/jobs/{job['jobId']}{suffix}", body).status == 200
        again = backfill(api, job, key="k")
        assert (again.status, again.body["backfillId"]) == (201, first.body["backfillId"])

    def test_a_key_belongs_to_its_job_and_to_its_tenant(self, api: Api) -> None:
        one, two = api.create(**HOURLY), api.create(everySeconds=3600)
        theirs = api.call("POST", "/v1/jobs", {"handler": "https://h", **HOURLY}, tenant="globex").body
        made = [
            backfill(api, one, key="k"),
            backfill(api, two, key="k"),
            backfill(api, theirs, key="k", tenant="globex"),
        ]
        assert [answer.status for answer in made] == [201, 201, 201]
        assert len({answer.body["backfillId"] for answer in made}) == 3

    def test_two_racing_requests_make_one_backfill(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        job = api.create(**HOURLY)
        first = backfill(api, job, key="k")
        api.clock.advance(1)
        monkeypatch.setattr(api.store.backfills, "read", lambda keys: [None for _ in keys])
        again = backfill(api, job, key="k")
        assert (again.status, again.body["backfillId"]) == (201, first.body["backfillId"])
        assert again.headers["Idempotency-Replayed"] == "true"
        assert backfill(api, job, key="k", paceSeconds=7).status == 422

    def test_a_backfill_whose_stores_answer_was_lost_is_no_replay(self, api: Api) -> None:
        job = api.create(**HOURLY)
        api.store.lose_answers(1)
        answer = backfill(api, job, key="k")
        assert (answer.status, "Idempotency-Replayed" in answer.headers) == (201, False)

    def test_a_store_that_does_not_answer_is_a_503_and_a_repeat_makes_the_backfill(
        self, api: Api, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job = api.create(**HOURLY)

        def no_answer(*_: object) -> list[object]:
            raise UnavailableError("throttled")

        with monkeypatch.context() as patched:
            patched.setattr(api.store.backfills, "insert", no_answer)
            assert backfill(api, job, key="k").status == 503
        assert backfill(api, job, key="k").status == 201
