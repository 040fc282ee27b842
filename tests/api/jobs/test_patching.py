"""Merge patches: the job that results, which is validated as a whole like a new job."""

from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import NOW, Api
from tests.api.jobs.bad_jobs import BAD_FIELDS
from tests.api.jobs.changes import PATCH, PAUSE, ask, patch, row
from tests.api.jobs.patches import BERLIN, PATCHED, REFUSED
from tests.api.jobs.test_bad_jobs import MALFORMED
from timeball.domain.model.ids import JobKey
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.transitions import claimed
from timeball.domain.time.instants import SECOND_MS

LEASE_MS = 30_000

# Rows of the table of bad jobs that are valid as a patch: the job supplies the missing fields, or null removes one.
RIGHT_AS_A_PATCH = {
    "nothing to call",
    "null to call",
    "a target without its type",
    "a target without a URL",
    "a past policy without a time",
    "the header value None",
    "trying again on None",
}
BAD_PATCHES = [bad for bad in BAD_FIELDS if bad[0] not in RIGHT_AS_A_PATCH]


class TestPatching:
    @pytest.mark.parametrize(("job", "change", "after"), PATCHED.values(), ids=PATCHED)
    def test_a_patch_changes_a_job(
        self, api: Api, job: dict[str, Any], change: dict[str, Any], after: dict[str, Any]
    ) -> None:
        before = api.create(**job)
        answer = patch(api, before, **change)
        assert (answer.status, answer.headers["ETag"]) == (200, '"2"'), answer.text
        assert {name: answer.body[name] for name in after} == after
        untouched = {"jobId", "createdAt", "status"} - change.keys()
        assert {name: answer.body[name] for name in untouched} == {name: before[name] for name in untouched}
        read = api.call("GET", f"/v1/jobs/{before['jobId']}").body
        shown = answer.body.keys() - {"claimedRuns", "nextRunAt", "nextRuns"}  # a job due at once may be sent by now
        assert {name: answer.body[name] for name in shown} == {name: read[name] for name in shown}

    @pytest.mark.parametrize(("job", "change", "fields", "words"), REFUSED.values(), ids=REFUSED)
    def test_the_patched_job_is_validated_as_a_whole(
        self, api: Api, job: dict[str, Any], change: dict[str, Any], fields: list[str], words: str
    ) -> None:
        created = api.create(**job)
        before = dict(api.store.jobs)
        answer = patch(api, created, **change)
        assert (answer.status, sorted(answer.bad_fields())) == (400, sorted(fields)), answer.text
        assert words in next(error["message"] for error in answer.body["errors"] if error["field"] == fields[0])
        assert api.store.jobs == before

    @pytest.mark.parametrize(
        ("body", "fields", "words"), [bad[1:] for bad in BAD_PATCHES], ids=[bad[0] for bad in BAD_PATCHES]
    )
    def test_a_patch_to_an_invalid_job_is_refused(
        self, api: Api, body: dict[str, Any], fields: list[str], words: str
    ) -> None:
        job = api.create(scheduleAt="2030-06-01T00:00:00Z")
        before = dict(api.store.jobs)
        answer = patch(api, job, **body)
        assert (answer.status, sorted(set(answer.bad_fields()))) == (400, sorted(fields)), answer.text
        assert words in next(error["message"] for error in answer.body["errors"] if error["field"] == fields[0])
        assert api.store.jobs == before

    @pytest.mark.parametrize(("raw", "words"), [bad[1:] for bad in MALFORMED], ids=[bad[0] for bad in MALFORMED])
    def test_a_body_that_is_no_json_object_is_no_patch(self, api: Api, raw: bytes, words: str) -> None:
        job = api.create(scheduleAt="2030-06-01T00:00:00Z")
        answer = api.call("PATCH", f"/v1/jobs/{job['jobId']}", raw=raw)
        assert (answer.status, answer.body["type"]) == (400, "urn:timeball:problem:malformed-body")
        assert words in answer.body["detail"]

    @pytest.mark.parametrize(
        ("content_type", "status"),
        [
            ("application/merge-patch+json", 200),
            ("application/json; charset=utf-8", 200),
            ("application/json-patch+json", 415),
            ("text/plain", 415),
        ],
    )
    def test_the_merge_patch_content_type_is_accepted(self, api: Api, content_type: str, status: int) -> None:
        answer = ask(api, api.create(everySeconds=60), PATCH, Content_Type=content_type)
        assert answer.status == status
        assert status == 200 or answer.headers["Accept-Patch"] == "application/merge-patch+json, application/json"

    def test_a_patch_that_changes_nothing_makes_no_new_version(self, api: Api) -> None:
        job = api.create(**BERLIN, payload={"a": 1}, maxRuns=5)
        for change in ({}, {"name": None}, {"timezone": "Europe/Berlin"}, {"payload": {"a": 1}}, {"maxRetries": 3}):
            answer = patch(api, job, **change)
            assert (answer.status, answer.body["version"], answer.body["updatedAt"]) == (200, 1, job["updatedAt"])

    def test_times_that_have_passed_since_are_refused_only_if_the_patch_gives_them(self, api: Api) -> None:
        one_off = api.create(scheduleAt="2026-11-21T09:31:00Z")
        recurring = api.create(everySeconds=5, endAt="2026-11-21T09:31:00Z")
        api.clock.advance(60 * 60 * SECOND_MS)
        assert patch(api, one_off, name="n", pastSchedule="reject").body["scheduleAt"] == "2026-11-21T09:31:00.000Z"
        assert patch(api, one_off, scheduleAt="2026-11-21T09:31:00Z", name="m").body["version"] == 3
        assert patch(api, recurring, name="n").status == 200
        assert patch(api, recurring, endAt="2026-11-21T09:31:01Z").bad_fields() == ["endAt"]
        assert patch(api, recurring, everySeconds=6).bad_fields() == ["endAt"]

    def test_a_max_runs_that_is_used_up_is_refused(self, api: Api) -> None:
        job = api.create(everySeconds=60, maxRuns=10)
        api.store.jobs[JobKey("acme", job["jobId"])] = replace(row(api, job), runs_planned=7)
        api.clock.advance(10 * SECOND_MS)
        answer = patch(api, job, maxRuns=6)
        assert (answer.status, answer.bad_fields()) == (400, ["maxRuns"])
        assert answer.body["errors"][0]["message"] == "The job has had 7 runs already; give a greater maxRuns."
        assert patch(api, job, maxRuns=8).status == 200

    def test_a_new_schedule_supersedes_dispatched_runs(self, api: Api) -> None:
        job = api.create(everySeconds=3, anchorAt="2026-11-21T09:30:02Z")
        answer = patch(api, job, everySeconds=86_400, anchorAt="2026-11-22T00:00:00Z")
        assert answer.body["nextRuns"][0] == "2026-11-22T00:00:00.000Z"
        runs = api.call("GET", f"/v1/jobs/{job['jobId']}/runs").body["items"]
        assert {(run["status"], run["reason"]) for run in runs} == {("skipped", Reason.SUPERSEDED.value)}

    def test_a_paused_job_may_be_changed_and_stays_paused(self, api: Api) -> None:
        job = api.create(everySeconds=60)
        ask(api, job, PAUSE)
        answer = patch(api, job, everySeconds=120)
        assert (answer.status, answer.body["status"], answer.body["everySeconds"]) == (200, "paused", 120)

    def test_runs_under_way_that_the_new_schedule_lacks_are_named(self, api: Api) -> None:
        job = api.create()
        api.put(claimed(api.only_run(), "me", NOW, LEASE_MS))
        answer = patch(api, job, delaySeconds=3600)
        assert answer.body["claimedRuns"] == [str(api.only_run().id)]
        assert patch(api, job, name="n").body["claimedRuns"] == answer.body["claimedRuns"]

    def test_a_repeated_creation_after_a_patch_gets_its_first_answer(self, api: Api) -> None:
        body = {"handler": "https://example.com/hook", "delaySeconds": 60}
        first = api.call("POST", "/v1/jobs", body, headers={"Idempotency-Key": "k"})
        api.clock.advance(SECOND_MS)
        patch(api, first.body, **BERLIN, name="n")
        again = api.call("POST", "/v1/jobs", body, headers={"Idempotency-Key": "k"})
        assert (again.status, again.text) == (201, first.text)


ELSEWHERE = "https://other.example/hook"


class TestHeadersOfATarget:
    """Header values cannot be read back, so a patch does not send them to another host either."""

    @pytest.mark.parametrize(
        ("target", "bad"),
        [
            ({"url": ELSEWHERE}, ["target.headers.X-Key", "target.headers.X-Team"]),
            ({"url": "http://example.com/hook"}, ["target.headers.X-Key", "target.headers.X-Team"]),
            ({"url": "https://example.com:8443/hook"}, ["target.headers.X-Key", "target.headers.X-Team"]),
            ({"url": ELSEWHERE, "headers": {"X-Team": "blue"}}, ["target.headers.X-Key"]),
            ({"url": ELSEWHERE, "headers": {"X-Key": "another", "X-Team": None}}, []),
            ({"url": ELSEWHERE, "headers": None}, []),
            ({"url": "https://EXAMPLE.com:443/elsewhere?x=1"}, []),
            ({"method": "PUT"}, []),
        ],
    )
    def test_they_do_not_go_along_to_another_host(self, api: Api, target: dict[str, Any], bad: list[str]) -> None:
        headers = {"X-Key": "secret", "X-Team": "blue"}
        job = api.create(
            handler=None,
            everySeconds=60,
            target={"type": "http", "url": "https://example.com/hook", "headers": headers},
        )
        before = api.work_of(job["jobId"])
        answer = patch(api, job, target=target)
        if bad:
            assert (answer.status, sorted(answer.bad_fields())) == (400, bad)
            assert api.work_of(job["jobId"]) == before
        else:
            assert answer.status == 200, answer.text
