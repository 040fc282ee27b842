"""Replays start at a pace, and their cursors carry that pace from one request to the next."""

from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import NOW, Api
from tests.api.dead_letters.calls import VERBS, deal, died, every_verb, late, on_and_on
from tests.api.jobs.changes import put_status
from tests.api.runs.rows import called, dead, row
from timeball.api.http.cursor import cursor_of
from timeball.domain.model.ids import RunId
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.time.instants import LATEST, SECOND_MS


class TestPace:
    @pytest.mark.parametrize(
        ("pace", "turns"),
        [
            ({}, [0, 100, 200, 300, 400]),
            ({"perSecond": None}, [0, 100, 200, 300, 400]),
            ({"perSecond": 1}, [0, 1000, 2000, 3000, 4000]),
            ({"perSecond": 3}, [0, 333, 666, 1000, 1333]),
            ({"perSecond": 1000}, [0, 1, 2, 3, 4]),
        ],
    )
    @pytest.mark.parametrize("by", ["name", "filter", "pages"])
    def test_a_replay_starts_that_many_runs_each_second(
        self, api: Api, job: dict[str, Any], by: str, pace: dict[str, Any], turns: list[int]
    ) -> None:
        runs = died(api, job, 5)
        if by == "name":
            answers = [deal(api, "replay", runIds=[str(run.id) for run in runs], **pace).body]
        else:
            answers = on_and_on(api, "replay", filter={}, limit=5 if by == "filter" else 3, **pace)
        assert [late(run) for answer in answers for run in answer["runs"]] == pytest.approx(turns, abs=1)
        for run, turn in zip(runs, turns, strict=True):
            stored = row(api, str(run.id))
            assert stored.due_at == stored.not_before == pytest.approx(NOW + turn, abs=1)

    def test_the_pace_is_kept_across_requests_and_never_reaches_into_the_past(
        self, api: Api, job: dict[str, Any]
    ) -> None:
        died(api, job, 30)
        asked: dict[str, Any] = {"filter": {}, "limit": 10, "perSecond": 2}
        first = deal(api, "replay", **asked).body
        api.clock.advance(SECOND_MS)
        second = deal(api, "replay", **asked, cursor=first["nextCursor"]).body
        assert [late(run) for run in second["runs"]] == list(range(5_000, 10_000, 500))
        api.clock.advance(20 * SECOND_MS)
        third = deal(api, "replay", **asked, cursor=second["nextCursor"]).body
        assert [late(run) for run in third["runs"]] == list(range(21_000, 26_000, 500))

    def test_no_run_is_sent_before_its_start(self, api: Api, job: dict[str, Any]) -> None:
        died(api, job, 3)
        api.queue.sent.clear()
        deal(api, "replay", filter={}, perSecond=1)
        assert api.queue.sent == []


class TestCursors:
    @pytest.fixture
    def cursors(self, api: Api, job: dict[str, Any]) -> dict[str, str]:
        died(api, job, 6)
        return {verb: deal(api, verb, filter={"error": "503"}, limit=1).body["nextCursor"] for verb in VERBS}

    @every_verb
    @pytest.mark.parametrize(
        ("changed", "status"),
        [
            ({}, 200),
            ({"limit": 2}, 200),
            ({"limit": None}, 200),
            ({"filter": {}}, 400),
            ({"filter": {"error": "50"}}, 400),
            ({"filter": {"error": "503", "reason": "too_old"}}, 400),
            ({"tenant": "globex"}, 400),
        ],
    )
    def test_a_cursor_is_valid_only_for_its_own_request(
        self, api: Api, cursors: dict[str, str], verb: str, changed: dict[str, Any], status: int
    ) -> None:
        asked = {"filter": {"error": "503"}, "limit": 1, "cursor": cursors[verb], **changed}
        answer = deal(api, verb, **asked)
        assert answer.status == status, answer.text
        assert status == 200 or answer.bad_fields() == ["cursor"]

    def test_a_replay_continues_at_its_own_pace(self, api: Api, cursors: dict[str, str]) -> None:
        for pace, status in ((11, 400), (10, 200)):
            answer = deal(api, "replay", filter={"error": "503"}, cursor=cursors["replay"], perSecond=pace)
            assert answer.status == status

    def test_a_discard_does_not_continue_from_a_replays_cursor(self, api: Api, cursors: dict[str, str]) -> None:
        assert deal(api, "discard", filter={"error": "503"}, cursor=cursors["replay"]).status == 400
        assert deal(api, "replay", filter={"error": "503"}, cursor=cursors["discard"]).status == 400

    @pytest.mark.parametrize(
        ("position", "status"),
        [
            ("5 6 7 {run}", 200),
            (f"{LATEST - 1} {LATEST - 1} {LATEST - 1} {{run}}", 200),
            ("{latest} 6 7 {run}", 400),
            ("5 {latest} 7 {run}", 400),
            ("5 6 {latest} {run}", 400),
            ("-5 6 7 {run}", 400),
            ("5 6 {run}", 400),
            ("5 6 7 8 {run}", 400),
            ("5 6 7 ", 400),
            ("5  7 {run}", 400),
            ("", 400),
        ],
    )
    def test_an_invented_cursor_does_no_harm(self, api: Api, job: dict[str, Any], position: str, status: int) -> None:
        run = dead(api, job, -1)
        query = '["replay",10,"acme",null,null,null,null,0,13569465600000]'
        forged = cursor_of([query], [position.format(run=run.id, latest=LATEST)])
        answer = deal(api, "replay", filter={}, cursor=forged)
        assert answer.status == status, answer.text


def test_a_replayed_one_off_waits_for_its_start(api: Api) -> None:
    ids = []
    for _ in range(2):
        run = called(api)
        put_status(api, {"jobId": run.id.job.job_id}, JobStatus.FAILED)
        api.put(replace(run, state=RunState.FAILED, finished_at=NOW, reason=Reason.TOO_OLD))
        ids.append(str(run.id))
    body = deal(api, "replay", filter={}, perSecond=1).body
    assert sorted(run["runId"] for run in body["runs"]) == sorted(ids)
    for run_id in ids:
        parsed = RunId.parse("acme", run_id)
        assert parsed is not None
        assert api.call("GET", f"/v1/jobs/{parsed.job.job_id}").body["status"] == "pending"
