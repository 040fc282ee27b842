"""Manual runs: beside the schedule, with a payload of their own, and once for each Idempotency-Key."""

from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import NOW, Answer, Api
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.runs.run import Run
from timeball.domain.model.runs.transitions import claimed
from timeball.ports.errors import UnavailableError


def trigger(api: Api, job: dict[str, Any], body: object = None, key: str | None = None, tenant: str = "acme") -> Answer:
    headers = {} if key is None else {"Idempotency-Key": key}
    return api.call("POST", f"/v1/jobs/{job['jobId']}/trigger", body, headers=headers, tenant=tenant)


def run_of(api: Api, answer: Answer) -> Run:
    run_id = RunId.parse("acme", answer.body["runId"])
    assert run_id is not None
    return api.store.runs[run_id]


def payload_of(api: Api, answer: Answer) -> str | None:
    """Return the payload that a run's call carries: its own, or its job's."""
    run = run_of(api, answer)
    if run.work_digest is None:
        return api.work_of(run.id.job.job_id).payload
    (work,) = api.store.works.read([(run.id.job, run.work_digest)])
    assert work is not None
    return work.payload


def test_a_manual_run_is_due_now_and_moves_no_schedule(api: Api) -> None:
    job = api.create(cronExpression="0 9 * * *", payload={"a": 1})
    before = dict(api.store.jobs)
    answer = trigger(api, job)
    assert (answer.status, answer.headers["Location"]) == (201, f"/v1/runs/{answer.body['runId']}")
    assert "Idempotency-Replayed" not in answer.headers
    expected = {
        "jobId": job["jobId"],
        "fireTime": "2026-11-21T09:30:00.250Z",
        "origin": "manual",
        "backfillId": None,
        "status": "queued",
        "attempt": 0,
    }
    assert {name: answer.body[name] for name in expected} == expected
    assert api.store.jobs == before
    assert [str(sent.id) for sent in api.queue.sent] == [answer.body["runId"]]
    read = api.call("GET", answer.headers["Location"]).body
    assert {name: read[name] for name in answer.body} == answer.body


@pytest.mark.parametrize(
    ("raw", "payload"),
    [
        (b"", '{"a":1}'),
        (b"{}", '{"a":1}'),
        (b'{"payload": null}', "null"),
        (b'{"payload": {"b": [2, "\xc3\xa4"]}}', '{"b":[2,"ä"]}'),
        (b'{"payload": ""}', '""'),
    ],
)
def test_its_payload_is_its_own_or_the_jobs(api: Api, raw: bytes, payload: str) -> None:
    job = api.create(delaySeconds=60, payload={"a": 1})
    answer = api.call("POST", f"/v1/jobs/{job['jobId']}/trigger", raw=raw)
    assert (answer.status, payload_of(api, answer)) == (201, payload)
    assert api.work_of(job["jobId"]).payload == '{"a":1}'


# The case, the body, the key, the status, the bad fields.
BAD: list[tuple[str, bytes, str | None, int, list[str] | None]] = [
    ("an unknown field", b'{"payloads": 1}', None, 400, ["payloads"]),
    ("a field of a job", b'{"priority": "high"}', None, 400, ["priority"]),
    ("a payload over 256 KB", b'{"payload": "' + b"x" * 262_144 + b'"}', None, 400, ["payload"]),
    ("half a surrogate pair", rb'{"payload": "\ud800"}', None, 400, ["payload"]),
    ("a bad key", b"", "a b", 400, ["Idempotency-Key"]),
    ("a bad key and a bad field", b'{"x": 1}', "ä", 400, ["x", "Idempotency-Key"]),
    ("an array", b"[]", None, 400, None),
    ("no JSON", b"payload=1", None, 400, None),
]


@pytest.mark.parametrize(("raw", "key", "status", "fields"), [bad[1:] for bad in BAD], ids=[bad[0] for bad in BAD])
def test_an_invalid_trigger_makes_no_run(
    api: Api, raw: bytes, key: str | None, status: int, fields: list[str] | None
) -> None:
    job = api.create(delaySeconds=60)
    headers = {} if key is None else {"Idempotency-Key": key}
    answer = api.call("POST", f"/v1/jobs/{job['jobId']}/trigger", raw=raw, headers=headers)
    assert answer.status == status
    assert fields is None or answer.bad_fields() == fields
    assert not api.store.runs


def test_a_body_of_another_content_type_makes_no_run(api: Api) -> None:
    job = api.create(delaySeconds=60)
    headers = {"Content-Type": "text/plain"}
    assert api.call("POST", f"/v1/jobs/{job['jobId']}/trigger", {"payload": 1}, headers=headers).status == 415
    assert not api.store.runs


@pytest.mark.parametrize("key", [None, "k"])
def test_another_tenants_job_is_not_triggered(api: Api, key: str | None) -> None:
    job = api.create(delaySeconds=60)
    assert trigger(api, job, key=key, tenant="globex").status == 404
    assert trigger(api, {"jobId": "job_0"}, key=key).status == 404
    assert not api.store.runs


@pytest.mark.parametrize(
    ("status", "answered"),
    [
        (JobStatus.PENDING, 201),
        (JobStatus.PAUSED, 201),
        (JobStatus.COMPLETED, 201),
        (JobStatus.FAILED, 201),
        (JobStatus.CANCELLED, 409),
    ],
)
def test_every_job_but_a_cancelled_one_may_be_triggered(api: Api, status: JobStatus, answered: int) -> None:
    job = api.create(delaySeconds=60)
    key = JobKey("acme", job["jobId"])
    api.store.jobs[key] = replace(api.store.jobs[key], status=status)
    answer = trigger(api, job, {"payload": 1})
    assert answer.status == answered
    assert answered == 201 or answer.body["type"] == "urn:timeball:problem:job-ended"
    assert len(api.store.runs) == (1 if answered == 201 else 0)


class TestIdempotency:
    def test_the_same_key_and_payload_make_one_run(self, api: Api) -> None:
        job = api.create(delaySeconds=60)
        first = trigger(api, job, {"payload": {"a": 1, "b": 2}}, "k")
        api.clock.advance(5000)
        again = trigger(api, job, {"payload": {"b": 2, "a": 1}}, "k")
        assert (again.status, again.body["runId"]) == (201, first.body["runId"])
        assert again.headers["Idempotency-Replayed"] == "true"
        assert again.headers["Location"] == first.headers["Location"]
        assert len(api.store.runs) == 1

    def test_a_repeat_shows_the_current_state_of_the_run(self, api: Api) -> None:
        job = api.create(delaySeconds=60)
        trigger(api, job, key="k")
        api.put(claimed(api.only_run(), "me", NOW, 30_000))
        assert trigger(api, job, key="k").body["status"] == "running"

    def test_no_body_and_an_empty_one_are_the_same(self, api: Api) -> None:
        job = api.create(delaySeconds=60)
        first = trigger(api, job, None, "k")
        assert trigger(api, job, {}, "k").body["runId"] == first.body["runId"]

    @pytest.mark.parametrize("other", [None, {"payload": None}, {"payload": 2}])
    def test_the_same_key_with_another_payload_is_a_conflict(self, api: Api, other: object) -> None:
        job = api.create(delaySeconds=60, payload=2)
        trigger(api, job, {"payload": 1}, "k")
        answer = trigger(api, job, other, "k")
        assert (answer.status, answer.body["type"]) == (422, "urn:timeball:problem:idempotency-conflict")
        assert len(api.store.runs) == 1

    def test_a_repeat_finds_its_run_though_the_job_was_changed_meanwhile(self, api: Api) -> None:
        job = api.create(delaySeconds=60)
        first = trigger(api, job, {"payload": 1}, "k")
        api.call("PATCH", f"/v1/jobs/{job['jobId']}", {"handler": "https://other.example"})
        assert trigger(api, job, {"payload": 1}, "k").body["runId"] == first.body["runId"]

    @pytest.mark.parametrize("keys", [("a", "b"), (None, None), ("a", None), (None, "a")])
    def test_two_requests_of_one_millisecond_make_two_runs(self, api: Api, keys: tuple[str | None, str | None]) -> None:
        job = api.create(delaySeconds=60)
        first, second = (trigger(api, job, key=key) for key in keys)
        assert first.body["fireTime"] == "2026-11-21T09:30:00.250Z"
        assert "2026-11-21T09:30:00.250Z" < second.body["fireTime"] < "2026-11-21T09:30:00.300Z"
        assert len(api.store.runs) == 2

    def test_a_key_belongs_to_its_job(self, api: Api) -> None:
        one, two = api.create(delaySeconds=60), api.create(delaySeconds=60)
        assert trigger(api, one, key="k").body["jobId"] != trigger(api, two, {"payload": 1}, "k").body["jobId"]

    def test_a_run_whose_answer_was_lost_in_the_store_is_no_replay(self, api: Api) -> None:
        job = api.create(delaySeconds=60)
        api.store.lose_answers(2)
        answer = trigger(api, job, key="k")
        assert answer.status == 201
        assert "Idempotency-Replayed" not in answer.headers

    def test_a_repeat_completes_a_request_that_was_cut_off(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        job = api.create(delaySeconds=60)

        def no_answer(*_: object) -> list[object]:
            raise UnavailableError("throttled")

        with monkeypatch.context() as patched:
            patched.setattr(api.store.runs, "insert", no_answer)
            assert trigger(api, job, {"payload": 1}, "k").status == 503
        api.clock.advance(5000)
        answer = trigger(api, job, {"payload": 1}, "k")
        assert (answer.status, answer.body["fireTime"]) == (201, "2026-11-21T09:30:00.250Z")
        assert trigger(api, job, {"payload": 1}, "k").body["runId"] == answer.body["runId"]


def test_a_stored_run_is_a_201_though_it_could_not_be_sent(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    job = api.create(delaySeconds=60)

    def no_queue(*_: object) -> list[bool]:
        raise UnavailableError("no answer")

    monkeypatch.setattr(api.queue, "send", no_queue)
    answer = trigger(api, job)
    assert answer.status == 201
    assert run_of(api, answer).due_at == NOW, "it stands in the due index for the scan"


def test_a_manual_run_does_not_make_a_one_off_running(api: Api) -> None:
    job = api.create(delaySeconds=60)
    answer = trigger(api, job)
    api.put(claimed(run_of(api, answer), "me", NOW, 30_000))
    read = api.call("GET", f"/v1/jobs/{job['jobId']}").body
    assert (read["status"], read["latestRun"]["status"]) == ("pending", "running")


def test_a_later_manual_run_does_not_hide_that_a_one_off_is_running(api: Api) -> None:
    job = api.create()
    api.put(claimed(api.only_run(), "me", NOW, 30_000))
    api.clock.advance(1000)
    answer = trigger(api, job)
    read = api.call("GET", f"/v1/jobs/{job['jobId']}").body
    assert (read["status"], read["latestRun"]["runId"]) == ("running", answer.body["runId"])
