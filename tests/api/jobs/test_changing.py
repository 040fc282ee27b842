"""Rules that pause, resume and patch share: their answers, their refusals, and their races."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import NOW, Api
from tests.api.jobs.changes import CHANGES, IDS, PATCH, PAUSE, RESUME, Change, ask, patch, put_status, row
from tests.api.jobs.patches import BERLIN
from timeball.domain.model.jobs.job import Job, JobStatus, with_spec
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.runs.transitions import claimed
from timeball.domain.time.instants import DAY_MS, SECOND_MS
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap, Swapped

LEASE_MS = 30_000

every_change = pytest.mark.parametrize("change", CHANGES, ids=IDS)


class TestEveryChange:
    @every_change
    def test_another_tenants_job_is_not_found_and_not_changed(self, api: Api, change: Change) -> None:
        job = api.create(everySeconds=60)
        before = dict(api.store.jobs)
        method, suffix, body = change
        answer = api.call(method, f"/v1/jobs/{job['jobId']}{suffix}", body, tenant="globex")
        unknown = api.call(method, f"/v1/jobs/job_0{suffix}", body)
        assert (answer.status, answer.body) == (404, unknown.body)
        assert api.store.jobs == before

    @every_change
    @pytest.mark.parametrize("status", [JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELLED])
    def test_a_job_that_has_ended_is_not_changed(self, api: Api, change: Change, status: JobStatus) -> None:
        job = api.create(delaySeconds=60)
        put_status(api, job, status)
        answer = ask(api, job, change)
        assert (answer.status, answer.body["type"]) == (409, "urn:timeball:problem:job-ended")
        verb = {"": "change"}.get(change[1], change[1].removeprefix("/"))
        assert answer.body["detail"] == f"The job is {status} already; there is nothing to {verb}."

    @every_change
    @pytest.mark.parametrize(
        ("if_match", "status"), [('"1"', 200), ("*", 200), ('"2"', 412), ('W/"1"', 412), ('"x"', 412), ("1", 400)]
    )
    def test_if_match_is_honoured(self, api: Api, change: Change, if_match: str, status: int) -> None:
        job = api.create(everySeconds=60)
        before = dict(api.store.jobs)
        answer = ask(api, job, change, If_Match=if_match)
        assert answer.status == status
        assert status != 412 or (answer.headers["ETag"], answer.body["type"]) == (
            '"1"',
            "urn:timeball:problem:stale-version",
        )
        assert status == 200 or api.store.jobs == before

    @every_change
    def test_a_condition_on_an_unknown_job_is_a_404(self, api: Api, change: Change) -> None:
        assert ask(api, {"jobId": "job_0"}, change, If_Match='"1"').status == 404

    @every_change
    def test_the_same_change_again_answers_alike_and_is_no_new_version(self, api: Api, change: Change) -> None:
        job = api.create(everySeconds=60, payload={"a": 1})
        if change is RESUME:
            ask(api, job, PAUSE)
        first = ask(api, job, change)
        api.clock.advance(500)
        again = ask(api, job, change)
        assert (first.status, again.status) == (200, 200)
        assert again.text == first.text
        assert again.headers["ETag"] == first.headers["ETag"] == f'"{first.body["version"]}"'
        assert first.body["payload"] == {"a": 1}
        read = api.call("GET", f"/v1/jobs/{job['jobId']}").body
        of_reads = {name: read[name] for name in ("latestRun", "lastRun", "running", "recent", "waitingFor")}
        assert {**first.body, **of_reads} == {**read, "claimedRuns": first.body["claimedRuns"]}


class TestPausing:
    def test_a_paused_job_has_no_next_run_and_withdraws_dispatched_runs(self, api: Api) -> None:
        job = api.create(everySeconds=3)
        paused = ask(api, job, PAUSE).body
        assert (paused["status"], paused["pausedAt"]) == ("paused", "2026-11-21T09:30:00.250Z")
        assert (paused["nextRunAt"], paused["nextRuns"], paused["claimedRuns"], paused["version"]) == (None, [], [], 2)
        runs = api.call("GET", f"/v1/jobs/{job['jobId']}/runs").body["items"]
        assert {run["status"] for run in runs} == {"withdrawn"}

    def test_a_change_names_the_runs_under_way_and_they_go_on(self, api: Api) -> None:
        job = api.create(everySeconds=3600)
        api.put(claimed(api.only_run(), "me", NOW, LEASE_MS))
        paused = ask(api, job, PAUSE).body
        assert paused["claimedRuns"] == [str(api.only_run().id)]
        assert api.call("GET", f"/v1/runs/{paused['claimedRuns'][0]}").body["cancelRequested"] is False
        assert ask(api, job, PAUSE).body["claimedRuns"] == paused["claimedRuns"]

    def test_a_paused_one_off_is_paused_and_its_run_waits(self, api: Api) -> None:
        job = api.create()
        assert ask(api, job, PAUSE).body["status"] == "paused"
        assert api.only_run().state is RunState.WITHDRAWN
        api.clock.advance(DAY_MS)
        assert ask(api, job, RESUME).body["status"] == "pending"
        assert api.only_run().state is RunState.QUEUED

    # The policy, the minutes of ten missed ones that are queued or skipped, and the state of the last one.
    @pytest.mark.parametrize(
        ("catch_up", "queued"),
        [
            ({"policy": "skip"}, []),
            ({"policy": "latest"}, [8]),
            ({"policy": "all", "maxRuns": 3}, [6, 7, 8]),
            ({"policy": "all", "maxAgeSeconds": 150}, [7, 8]),
        ],
    )
    def test_a_resumed_job_catches_up_as_its_policy_says(
        self, api: Api, catch_up: dict[str, Any], queued: list[int]
    ) -> None:
        job = api.create(everySeconds=60, anchorAt="2026-11-21T09:31:00Z", catchUp=catch_up)
        ask(api, job, PAUSE)
        api.clock.advance(10 * 60 * SECOND_MS)
        resumed = ask(api, job, RESUME)
        assert (resumed.status, resumed.body["status"], resumed.body["pausedAt"]) == (200, "pending", None)
        assert resumed.body["version"] == 3
        for _ in range(3):  # as the next scans would; a plan skips a range or starts runs, never both
            api.dispatch()
        rows = list(reversed(api.call("GET", f"/v1/jobs/{job['jobId']}/runs").body["items"]))
        late = [run for run in rows if run["fireTime"] < "2026-11-21T09:40:00"]
        started = [int(run["fireTime"][14:16]) - 31 for run in late if run["status"] == "queued"]
        assert started == queued
        missed = [run for run in late if run["status"] == "skipped"]
        assert sum(run["count"] for run in missed) == 9 - len(queued)
        assert {run["reason"] for run in missed} == {"misfired"}


class TestRaces:
    """Another request changes the job between a patch's read and its write."""

    def meanwhile(self, api: Api, times: int, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
        """Change the job's tags right before a swap, this many times; return a function that counts the changes."""
        swap_jobs = api.store.jobs.swap
        done: list[int] = []

        def swap(swaps: list[Swap[Job]], now: int) -> list[Swapped[Job]]:
            if len(done) < times:
                standing = api.store.jobs[swaps[0].before.key]
                done.append(1)
                other = with_spec(replace(standing, version=standing.version + 1), tags={"by": f"another {len(done)}"})
                swap_jobs([Swap(standing, other)], now)
            return swap_jobs(swaps, now)

        monkeypatch.setattr(api.store.jobs, "swap", swap)
        return lambda: len(done)

    @pytest.mark.parametrize("times", [1, 3])
    def test_without_a_condition_a_patch_is_validated_again_and_loses_nothing_of_the_other_change(
        self, api: Api, times: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job = api.create(**BERLIN)
        count = self.meanwhile(api, times, monkeypatch)
        answer = patch(api, job, name="n")
        assert (answer.status, count()) == (200, times)
        assert (answer.body["name"], answer.body["tags"]) == ("n", {"by": f"another {times}"})
        assert answer.body["version"] == times + 2

    def test_a_job_that_keeps_changing_is_a_503(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        job = api.create(**BERLIN)
        self.meanwhile(api, 100, monkeypatch)
        answer = patch(api, job, name="n")
        assert (answer.status, answer.body["type"]) == (503, "urn:timeball:problem:unavailable")
        assert row(api, job).spec.name is None

    def test_with_a_condition_a_patch_that_was_overtaken_is_refused(
        self, api: Api, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job = api.create(**BERLIN)
        self.meanwhile(api, 1, monkeypatch)
        answer = ask(api, job, PATCH, If_Match='"1"')
        assert (answer.status, answer.headers["ETag"]) == (412, '"2"')
        assert row(api, job).spec.name is None

    @every_change
    def test_a_change_whose_answer_was_lost_is_made_once(self, api: Api, change: Change) -> None:
        job = api.create(**BERLIN)
        api.store.lose_answers(3)
        assert ask(api, job, change).status == 200
        assert row(api, job).version == (1 if change is RESUME else 2)

    @every_change
    def test_a_change_that_could_not_be_written_is_a_503_and_may_be_repeated(
        self, api: Api, change: Change, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job = api.create(**BERLIN)
        if change is RESUME:
            ask(api, job, PAUSE)

        def no_answer(*_: object) -> list[object]:
            raise UnavailableError("throttled")

        with monkeypatch.context() as patched:
            patched.setattr(api.store.jobs, "swap", no_answer)
            assert ask(api, job, change).status == 503
        assert ask(api, job, change).status == 200
