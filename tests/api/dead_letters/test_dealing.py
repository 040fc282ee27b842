"""Replay and discard: by run id or by filter, page by page."""

from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import NOW, Api
from tests.api.dead_letters.calls import deal, died, every_verb, late, listed, on_and_on
from tests.api.jobs.changes import put_status
from tests.api.runs.rows import called, dead, row
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run
from timeball.domain.model.runs.transitions import discarded, reopened
from timeball.domain.time.instants import SECOND_MS, format_instant
from timeball.ports.rows import Swap, Swapped


class TestByName:
    def test_a_replay_retries_each_run_with_a_fresh_budget(self, api: Api, job: dict[str, Any]) -> None:
        runs = died(api, job, 3)
        answer = deal(api, "replay", runIds=[str(run.id) for run in runs[:2]])
        assert (answer.status, answer.body["refused"], answer.body["nextCursor"]) == (200, [], None)
        assert answer.body["done"] == 2
        assert [late(run) for run in answer.body["runs"]] == [0, 100]
        for run in runs[:2]:
            read = api.call("GET", f"/v1/runs/{run.id}").body
            assert (read["status"], read["reason"], read["attempt"], read["finishedAt"]) == ("queued", None, 4, None)
            assert row(api, str(run.id)).attempts_spent == 0
        assert listed(api) == [str(runs[2].id)]

    def test_a_discard_takes_each_run_off_the_list_and_leaves_the_ledger_as_it_is(
        self, api: Api, job: dict[str, Any]
    ) -> None:
        runs = died(api, job, 2)
        answer = deal(api, "discard", runIds=[str(runs[0].id)])
        assert answer.body == {
            "done": 1,
            "runs": [{"runId": str(runs[0].id), "nextAttemptAt": None}],
            "refused": [],
            "nextCursor": None,
        }
        read = api.call("GET", f"/v1/runs/{runs[0].id}").body
        assert (read["status"], read["discardedAt"]) == ("failed", format_instant(NOW))
        assert listed(api) == [str(runs[1].id)]

    @every_verb
    def test_ids_that_are_no_dead_letters_are_refused_and_do_not_affect_the_others(
        self, api: Api, job: dict[str, Any], verb: str
    ) -> None:
        good, gone, foreign = dead(api, job, 1), dead(api, job, 2), dead(api, job, 3, tenant="globex")
        api.put(discarded(gone, NOW))
        live = called(api)
        unknown = f"{job['jobId']}.5.s"
        ids = [str(run.id) for run in (live, gone, foreign, good)]
        before = dict(api.store.runs)
        body = deal(api, verb, runIds=[*ids, unknown, str(good.id)]).body
        assert (body["done"], [run["runId"] for run in body["runs"]]) == (1, [str(good.id)])
        assert body["refused"] == [*ids[:3], unknown]
        assert {run.id: run for run in api.store.runs.values() if run.id != good.id} == {
            run_id: run for run_id, run in before.items() if run_id != good.id
        }

    @every_verb
    def test_the_same_request_again_finds_nothing_left_to_do(self, api: Api, job: dict[str, Any], verb: str) -> None:
        ids = [str(run.id) for run in died(api, job, 2)]
        assert deal(api, verb, runIds=ids).body["done"] == 2
        after = dict(api.store.runs)
        again = deal(api, verb, runIds=ids)
        assert (again.status, again.body["done"], again.body["refused"]) == (200, 0, ids)
        assert api.store.runs == after

    @pytest.mark.parametrize(("verb", "done"), [("replay", 0), ("discard", 1)])
    def test_dead_letters_of_a_cancelled_job_can_only_be_discarded(
        self, api: Api, job: dict[str, Any], verb: str, done: int
    ) -> None:
        run = dead(api, job)
        put_status(api, job, JobStatus.CANCELLED)
        body = deal(api, verb, runIds=[str(run.id)]).body
        assert (body["done"], body["refused"]) == (done, [] if done else [str(run.id)])

    def test_a_discarded_dead_letter_may_still_be_retried_manually(self, api: Api, job: dict[str, Any]) -> None:
        run = dead(api, job)
        deal(api, "discard", runIds=[str(run.id)])
        assert deal(api, "replay", runIds=[str(run.id)]).body["refused"] == [str(run.id)]
        retried = api.call("POST", f"/v1/runs/{run.id}/retry").body
        assert (retried["status"], retried["discardedAt"]) == ("queued", None)

    @every_verb
    def test_a_dead_letter_that_another_request_changed_meanwhile_is_refused(
        self, api: Api, job: dict[str, Any], monkeypatch: pytest.MonkeyPatch, verb: str
    ) -> None:
        slow, other = died(api, job, 2)
        swap_runs = api.store.runs.swap

        def meanwhile(swaps: list[Swap[Run]], now: int) -> list[Swapped[Run]]:
            api.put(replace(reopened(slow, now + 1), revision=slow.revision + 1))
            return swap_runs(swaps, now)

        monkeypatch.setattr(api.store.runs, "swap", meanwhile)
        api.clock.advance(1)
        body = deal(api, verb, runIds=[str(slow.id), str(other.id)]).body
        assert (body["done"], body["refused"]) == (1, [str(slow.id)])


class TestByFilter:
    # The filter, where {0} and {1} are job ids; the indexes of the matching letters out of six, two of each job in
    # turn.
    @every_verb
    @pytest.mark.parametrize(
        ("chosen", "which"),
        [
            ({}, [0, 1, 2, 3, 4, 5]),
            ({"jobId": "{1}"}, [1, 3, 5]),
            ({"reason": "too_old"}, [4, 5]),
            ({"error": "number 3"}, [3]),
            ({"from": format_instant(NOW - 2000)}, [4, 5]),
            ({"from": format_instant(NOW - 5000), "to": format_instant(NOW - 4000)}, [1, 2]),
            ({"jobId": "{0}", "reason": "too_old", "error": None}, [4]),
            ({"jobId": "nobody-has-this"}, []),
        ],
    )
    def test_matching_dead_letters_are_processed_oldest_first(
        self, api: Api, verb: str, chosen: dict[str, Any], which: list[int]
    ) -> None:
        jobs = [api.create(name=name, everySeconds=60) for name in ("zero", "one")]
        runs = [
            dead(
                api,
                jobs[number % 2],
                number - 6,
                reason=Reason.TOO_OLD if number > 3 else Reason.NOT_RETRIABLE,
                error=f"Number {number}",
            )
            for number in range(6)
        ]
        ids = [job["jobId"] for job in jobs]
        asked = {name: value and value.format(*ids) for name, value in chosen.items()}
        answer = deal(api, verb, filter=asked)
        assert (answer.status, answer.body["done"], answer.body["nextCursor"]) == (200, len(which), None)
        assert [run["runId"] for run in answer.body["runs"]] == [str(runs[number].id) for number in which]
        assert sorted(listed(api)) == sorted(str(run.id) for run in runs if runs.index(run) not in which)

    @every_verb
    def test_another_tenants_dead_letters_are_left_alone(self, api: Api, job: dict[str, Any], verb: str) -> None:
        run = dead(api, job, -1, tenant="globex")
        assert deal(api, verb, filter={}).body["done"] == 0
        assert deal(api, verb, filter={"jobId": job["jobId"]}).body["done"] == 0
        assert api.store.runs[run.id] == run

    @every_verb
    def test_hundreds_are_processed_in_one_request_and_the_first_hundred_shown(
        self, api: Api, job: dict[str, Any], verb: str
    ) -> None:
        runs = died(api, job, 450)
        body = deal(api, verb, filter={"jobId": job["jobId"]}).body
        assert (body["done"], body["refused"], body["nextCursor"]) == (450, [], None)
        assert [run["runId"] for run in body["runs"]] == [str(run.id) for run in runs[:100]]
        assert listed(api) == []

    @every_verb
    def test_a_cursor_continues_after_the_last_dead_letter(self, api: Api, job: dict[str, Any], verb: str) -> None:
        runs = died(api, job, 25)
        answers = on_and_on(api, verb, filter={"reason": "retries_exhausted"}, limit=10)
        assert [answer["done"] for answer in answers] == [10, 10, 5]
        assert [run["runId"] for answer in answers for run in answer["runs"]] == [str(run.id) for run in runs]

    @every_verb
    def test_runs_that_fail_after_the_first_request_are_left_for_the_next_one(
        self, api: Api, job: dict[str, Any], verb: str
    ) -> None:
        """So paging comes to an end, although a replayed run may fail again at once."""
        died(api, job, 3)
        first = deal(api, verb, filter={}, limit=2).body
        late_one = dead(api, job, 5)
        api.clock.advance(10 * SECOND_MS)
        second = deal(api, verb, filter={}, limit=2, cursor=first["nextCursor"]).body
        assert (second["done"], second["nextCursor"]) == (1, None)
        assert str(late_one.id) in listed(api)
        assert deal(api, verb, filter={}).body["done"] == 1

    def test_runs_of_cancelled_jobs_are_named_and_passed_over(self, api: Api, job: dict[str, Any]) -> None:
        cancelled = api.create(everySeconds=60)
        (stays,) = died(api, cancelled, 1)
        died(api, job, 2, error="x")
        put_status(api, cancelled, JobStatus.CANCELLED)
        body = deal(api, "replay", filter={}).body
        assert (body["done"], body["refused"]) == (2, [str(stays.id)])
        assert deal(api, "discard", filter={}).body["done"] == 1


@every_verb
def test_a_request_with_a_limit_takes_no_idempotency_key_because_its_repeat_would_process_others(
    api: Api, job: dict[str, Any], verb: str
) -> None:
    runs = died(api, job, 3)
    path, keyed = f"/v1/dead-letters:{verb}", {"Idempotency-Key": "once"}
    answer = api.call("POST", path, {"filter": {}, "limit": 1}, headers=keyed)
    assert (answer.status, [error["field"] for error in answer.body["errors"]]) == (400, ["limit"])
    assert len(listed(api)) == 3
    for done in (3, 0):
        body = {"filter": {"to": format_instant(NOW)}, "limit": None}
        assert api.call("POST", path, body, headers=keyed).body["done"] == done
    named = {"runIds": [str(runs[0].id)]}
    assert api.call("POST", path, named, headers=keyed).body["done"] == 0


@every_verb
def test_a_limit_beside_a_key_and_an_invalid_key_are_named_with_all_other_mistakes(api: Api, verb: str) -> None:
    path = f"/v1/dead-letters:{verb}"
    body = {"filter": {"reason": "x"}, "limit": 1, "y": 2}
    answer = api.call("POST", path, body, headers={"Idempotency-Key": "once"})
    assert (answer.status, sorted(answer.bad_fields())) == (400, ["filter.reason", "limit", "y"])
    answer = api.call("POST", path, body, headers={"Idempotency-Key": "not one"})
    assert (answer.status, sorted(answer.bad_fields())) == (400, ["Idempotency-Key", "filter.reason", "y"])
