"""The list of dead letters: its items, its filters, its pages, and that it shows only the caller's tenant."""

from typing import Any

import pytest

from tests.api.client import NOW, Api
from tests.api.http.requests import parameters_of
from tests.api.runs.rows import dead
from timeball.api.http.cursor import cursor_of
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.reason import Reason
from timeball.domain.time.instants import LATEST, SECOND_MS, format_instant
from timeball.engine.filtered_pages import MAX_EXAMINED

PATH = "/v1/dead-letters"


def pages(api: Api, query: dict[str, str]) -> list[list[int]]:
    """Return, page by page, how many seconds from NOW each item died."""
    found: list[list[int]] = []
    asked: dict[str, str] | None = query
    while asked is not None:
        answer = api.call("GET", PATH, query=asked)
        assert answer.status == 200, answer.text
        found.append([second_of(item["diedAt"]) for item in answer.body["items"]])
        cursor = answer.body["nextCursor"]
        asked = None if cursor is None else {**query, "cursor": cursor}
    return found


def second_of(died_at: str) -> int:
    return SECONDS[died_at]


SECONDS = {format_instant(NOW + second * SECOND_MS): second for second in range(2000)}


def at(second: float) -> str:
    return format_instant(NOW + int(second * SECOND_MS))


class TestAnItem:
    def test_an_item_is_the_run_with_the_result_of_its_last_attempt(self, api: Api, job: dict[str, Any]) -> None:
        run = dead(api, job)
        answer = api.call("GET", PATH)
        assert (answer.status, answer.body["nextCursor"]) == (200, None)
        (item,) = answer.body["items"]
        read = api.call("GET", f"/v1/runs/{run.id}").body
        assert {name: value for name, value in item.items() if name in read} == {
            name: value
            for name, value in read.items()
            if name not in ("attempts", "result", "maxRetries", "retryPolicy", "waitingFor")
        }
        assert {name: item[name] for name in item.keys() - read.keys()} == {
            "diedAt": format_instant(NOW),
            "error": "The target answered with status 503.",
            "httpStatus": 503,
        }

    def test_a_run_that_was_never_called_shows_no_error(self, api: Api, job: dict[str, Any]) -> None:
        dead(api, job, error=None, status=None, reason=Reason.HOST_DOWN)
        (item,) = api.call("GET", PATH).body["items"]
        assert (item["error"], item["httpStatus"], item["reason"]) == (None, None, "host_down")

    def test_a_tenant_without_any_has_an_empty_list(self, api: Api) -> None:
        api.create()
        assert api.call("GET", PATH).body == {"items": [], "nextCursor": None}

    def test_another_tenants_are_not_listed(self, api: Api, job: dict[str, Any]) -> None:
        dead(api, job)
        dead(api, job, 1, tenant="globex")
        for tenant in ("acme", "globex"):
            (item,) = api.call("GET", PATH, tenant=tenant).body["items"]
            assert (item["diedAt"] == at(1)) == (tenant == "globex")


class TestFilters:
    @pytest.fixture
    def jobs(self, api: Api) -> list[dict[str, Any]]:
        """Create two jobs with six dead letters, a second apart; the third and the fourth died in the same way."""
        jobs: list[dict[str, Any]] = [api.create(name="zero", everySeconds=60), api.create(name="one", everySeconds=60)]
        for second in range(6):
            reason = Reason.NOT_RETRIABLE if second in (2, 3) else Reason.RETRIES_EXHAUSTED
            dead(api, jobs[second % 2], second, reason=reason, error=f"Error {second}: İt is 50% on fire\x1f.")
        return jobs

    # The query, where {0} and {1} are the two jobs' ids; the seconds of the matching letters, newest first.
    @pytest.mark.parametrize(
        ("query", "seconds"),
        [
            ({}, [5, 4, 3, 2, 1, 0]),
            ({"jobId": "{1}"}, [5, 3, 1]),
            ({"jobId": "{0}", "reason": "not_retriable"}, [2]),
            ({"jobId": "nobody-has-this"}, []),
            ({"reason": "not_retriable"}, [3, 2]),
            ({"reason": "too_old"}, []),
            ({"error": "error 4"}, [4]),
            ({"error": "ON FIRE"}, [5, 4, 3, 2, 1, 0]),
            ({"error": "50%"}, [5, 4, 3, 2, 1, 0]),
            ({"error": "\x1f."}, [5, 4, 3, 2, 1, 0]),
            ({"error": "error 4", "reason": "not_retriable"}, []),
            ({"from": at(4)}, [5, 4]),
            ({"to": at(1)}, [1, 0]),
            ({"from": at(1), "to": at(3)}, [3, 2, 1]),
            ({"from": at(3), "to": at(3)}, [3]),
            ({"from": at(2.001), "to": at(2.999)}, []),
            ({"from": "2026-11-21T10:30:04.250 01:00"}, [5, 4]),
        ],
    )
    @pytest.mark.parametrize("limit", ["1", "2", "50"])
    def test_the_list_has_exactly_the_letters_that_match_the_query(
        self, api: Api, jobs: list[dict[str, Any]], query: dict[str, str], seconds: list[int], limit: str
    ) -> None:
        ids = [job["jobId"] for job in jobs]
        asked = {name: value.format(*ids) if name == "jobId" else value for name, value in query.items()}
        found = pages(api, {**asked, "limit": limit})
        assert [second for page in found for second in page] == seconds
        assert all(len(page) == int(limit) for page in found[:-1])

    @pytest.mark.parametrize(
        ("query", "fields"),
        [
            ({"limit": "0"}, ["limit"]),
            ({"limit": "201"}, ["limit"]),
            ({"jobId": "a.b"}, ["jobId"]),
            ({"jobId": ""}, ["jobId"]),
            ({"reason": "bad luck"}, ["reason"]),
            ({"reason": "not_retriable,too_old"}, ["reason"]),
            ({"error": ""}, ["error"]),
            ({"error": "x" * 201}, ["error"]),
            ({"error": "\ud800"}, ["error"]),
            ({"from": "yesterday"}, ["from"]),
            ({"from": at(1), "to": at(0)}, ["to"]),
            ({"taskId": "t t"}, ["taskId"]),
            ({"status": "failed", "JobId": "x"}, ["status", "JobId"]),
            (
                {"x": "", "limit": "x", "jobId": "ä", "reason": "x", "error": "", "from": "x", "to": "x"},
                ["x", "limit", "jobId", "reason", "error", "from", "to"],
            ),
            ({"cursor": "!!!"}, ["cursor"]),
            ({"cursor": "ä"}, ["cursor"]),
            ({"cursor": "AAAAAAAAAAAAAAAA"}, ["cursor"]),
        ],
    )
    def test_every_bad_parameter_is_named(self, api: Api, query: dict[str, str], fields: list[str]) -> None:
        answer = api.call("GET", PATH, query=query)
        assert (answer.status, answer.body["type"]) == (400, "urn:timeball:problem:invalid-request")
        assert answer.bad_fields() == fields
        assert all(error["message"].endswith((".", "?")) for error in answer.body["errors"])

    def test_a_mistake_in_a_query_is_worded_for_parameters_and_not_for_stored_fields(self, api: Api) -> None:
        answer = api.call("GET", PATH, query={"job_id": "x"})
        assert answer.body["detail"] == "One field needs a change; nothing was done. See `errors`."
        (error,) = answer.body["errors"]
        assert error == {"field": "job_id", "message": "There is no such parameter; did you mean jobId?"}

    def test_its_parameters_are_those_of_the_filter(self) -> None:
        assert parameters_of(PATH) == (
            *("jobId", "taskId", "reason", "error", "fingerprint", "from", "to", "limit", "cursor"),
        )


class TestPages:
    def test_hundreds_are_listed_page_by_page_each_once(self, api: Api, job: dict[str, Any]) -> None:
        other = api.create(everySeconds=60)
        for second in range(600):
            dead(api, other if second % 3 else job, second)
        found = pages(api, {"jobId": job["jobId"], "limit": "30", "from": at(60)})
        assert [len(page) for page in found] == [30] * 6
        assert [second for page in found for second in page] == list(range(597, 59, -3))

    def test_letters_of_one_millisecond_are_listed_once_each(self, api: Api) -> None:
        for _ in range(5):
            dead(api, api.create(everySeconds=60), 7)
        found = pages(api, {"limit": "2"})
        assert found == [[7, 7], [7, 7], [7]]

    def test_a_page_ends_early_if_its_filter_passes_over_many(self, api: Api, job: dict[str, Any]) -> None:
        other = api.create(everySeconds=60)
        for second in range(MAX_EXAMINED + 100):
            dead(api, job if second == 3 else other, second)
        found = pages(api, {"jobId": job["jobId"]})
        assert found == [[], [3]]

    def test_runs_that_fail_meanwhile_move_no_page(self, api: Api, job: dict[str, Any]) -> None:
        for second in range(4):
            dead(api, job, second)
        first = api.call("GET", PATH, query={"limit": "2"}).body
        dead(api, job, 9)
        second_page = api.call("GET", PATH, query={"limit": "2", "cursor": first["nextCursor"]}).body
        assert [second_of(item["diedAt"]) for item in second_page["items"]] == [1, 0]

    def test_a_cursor_is_valid_only_for_its_own_query(self, api: Api, job: dict[str, Any]) -> None:
        for second in range(4):
            dead(api, job, second)
        query = {"limit": "1", "reason": "retries_exhausted"}
        cursor = api.call("GET", PATH, query=query).body["nextCursor"]

        def status(tenant: str = "acme", **changed: str) -> int:
            return api.call("GET", PATH, query={**query, "cursor": cursor, **changed}, tenant=tenant).status

        assert status() == 200
        assert status(limit="5") == 200
        assert status(reason="too_old") == 400
        assert status(jobId=job["jobId"]) == 400
        assert status(error="x") == 400
        assert status(to=at(5)) == 400
        assert status(cursor=cursor + "A") == 400
        assert status(tenant="globex") == 400
        api.clock.advance(4 * SECOND_MS)
        replay = api.call("POST", f"{PATH}:replay", {"filter": {"reason": query["reason"]}, "limit": 1}).body
        assert status(cursor=replay["nextCursor"]) == 400
        assert api.call("POST", f"{PATH}:replay", {"filter": {}, "cursor": cursor}).status == 400

    @pytest.mark.parametrize("died_at", ["", "-1", "x", "1.5", str(LATEST), "9" * 40, "٣"])
    def test_an_invented_cursor_is_refused(self, api: Api, job: dict[str, Any], died_at: str) -> None:
        """The hash of a cursor is no secret, so an invented cursor must be harmless."""
        run = RunId(dead(api, job).id.job, NOW, Origin.SCHEDULE)
        assert api.call("GET", PATH, query={"cursor": cursor_of([PATH, "acme"], [NOW, run])}).status == 200
        if died_at.isascii():
            forged = cursor_of([PATH, "acme"], [died_at, run])
            assert api.call("GET", PATH, query={"cursor": forged}).status == 400
