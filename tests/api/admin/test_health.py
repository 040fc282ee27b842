"""The health of all tenants: what is late, held, throttled and dead, for admins of the operating tenant alone."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil
from typing import Any

import pytest

from tests.api.client import NOW, OPERATING, Api
from timeball.api.admin.health import MOST_TENANTS
from timeball.api.app import build_api
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.notable import noted
from timeball.domain.model.runs.run import Permit, Run, RunState, Waiting
from timeball.domain.time.instants import HOUR_MS, MINUTE_MS, SECOND_MS, format_instant
from timeball.domain.usage.spending import Estimate
from timeball.engine.context import Known
from timeball.engine.tenant_health import MOST_EXAMINED
from timeball.testing.faults import each_port

PATH = "/v1/admin/health"
HOOK = {"handler": "https://example.com/hook", "everySeconds": 3600, "payload": {"card": "4111"}}
CALM = {"disabled": False, "late": 0, "held": 0, "throttled": 0, "lateExact": True, "dead": 0, "deadExact": True}
LINE = Waiting("database", Permit.SLOT)

CASES: dict[str, tuple[dict[str, Any], tuple[int, int, int]]] = {
    # The fields of the row of a run of a minute ago, and how many runs are then late, held and throttled.
    "not begun": ({}, (1, 0, 0)),
    "begun": ({"state": RunState.RUNNING, "attempt": 1, "claimed_at": NOW}, (0, 0, 0)),
    "waits for another attempt": ({"state": RunState.RETRYING, "attempt": 1}, (0, 0, 0)),
    "waits for a limit": ({"waiting": LINE, "reason": Reason.LIMIT_WAIT}, (1, 1, 0)),
    "waits for a quota": ({"waiting": replace(LINE, name=""), "reason": Reason.QUOTA_WAIT}, (1, 0, 1)),
    "waits for its parents": ({"waits": True, "reason": Reason.WAITING_FOR_PARENTS}, (1, 1, 0)),
    "waits for its resource": ({"reason": Reason.CIRCUIT_OPEN}, (1, 1, 0)),
}


def health(api: Api, **others: Any) -> dict[str, dict[str, Any]]:
    """Return the health of each tenant by its name."""
    answer = api.call("GET", PATH, **others)
    assert answer.status == 200, answer.text
    return {item["tenant"]: item for item in answer.body["items"]}


def waiting(tenant: str, number: int = 0, **fields: Any) -> Run:
    """Return a run of a minute ago that has not begun, of a job of its own."""
    fire_at = NOW - MINUTE_MS
    run_id = RunId(JobKey(tenant, f"job-{number}"), fire_at, Origin.SCHEDULE)
    return noted(replace(Run(run_id, RunState.QUEUED, 1, "normal", 0, fire_at, fire_at), **fields))


@pytest.mark.parametrize(("fields", "counts"), CASES.values(), ids=CASES)
def test_a_run_is_late_held_or_throttled(api: Api, fields: dict[str, Any], counts: tuple[int, int, int]) -> None:
    api.put(waiting("globex", **fields))
    found = health(api)
    assert tuple(found["globex"][name] for name in ("late", "held", "throttled")) == counts
    assert found["acme"] == {"tenant": "acme", **CALM, "oldestDueAt": None}


def test_a_run_that_waits_for_its_jobs_lock_or_for_a_freeze_is_held(api: Api) -> None:
    made = api.call("POST", "/v1/jobs", HOOK, tenant="globex").body
    key = JobKey("globex", made["jobId"])
    run = waiting("globex")
    api.put(replace(run, id=replace(run.id, job=key)))
    assert health(api)["globex"]["held"] == 0
    holder = RunId(key, NOW - HOUR_MS, Origin.SCHEDULE)
    api.store.jobs[key] = replace(api.store.jobs[key], holder=holder)
    assert health(api)["globex"]["held"] == 1
    api.store.jobs[key] = replace(api.store.jobs[key], holder=None)
    assert api.call("POST", "/v1/freezes", {"match": {"all": True}}, tenant="globex").status == 201
    api.clock.advance(MINUTE_MS)
    assert health(api)["globex"]["held"] == 1


def test_dead_letters_and_the_oldest_due_are_those_of_each_tenant(api: Api) -> None:
    for seconds, tenant in ((10, "globex"), (40, "acme")):
        body = {"handler": "https://example.com/hook", "delaySeconds": seconds}
        assert api.call("POST", "/v1/jobs", body, tenant=tenant).status == 201
    for number in range(3):
        ended = {"state": RunState.FAILED, "attempt": 1, "reason": Reason.NOT_RETRIABLE, "finished_at": NOW}
        api.put(waiting("globex", number, **ended))
    api.clock.advance(20 * SECOND_MS)
    found = health(api)
    assert (found["globex"]["dead"], found["acme"]["dead"]) == (3, 0)
    assert found["globex"]["oldestDueAt"] == format_instant(NOW + 10 * SECOND_MS)
    assert found["acme"]["oldestDueAt"] is None
    api.clock.advance(MINUTE_MS)
    assert health(api)["acme"]["oldestDueAt"] == format_instant(NOW + 40 * SECOND_MS)


def test_more_late_runs_than_are_examined_are_told_as_at_least_so_many(api: Api) -> None:
    for number in range(MOST_EXAMINED + 1):
        api.put(waiting("globex", number, waiting=LINE, reason=Reason.LIMIT_WAIT))
    found = health(api)["globex"]
    assert (found["late"], found["held"], found["lateExact"]) == (MOST_EXAMINED, MOST_EXAMINED, False)


def test_a_disabled_tenant_is_told_as_such_and_a_deleted_one_is_left_out(api: Api) -> None:
    assert api.call("PATCH", "/v1/admin/tenants/globex", {"disabled": True}).status == 200
    assert health(api)["globex"]["disabled"] is True
    assert api.call("DELETE", "/v1/admin/tenants/globex").status == 200
    assert [*health(api)] == [OPERATING]


def test_no_answer_has_a_payload_or_the_name_of_a_job(api: Api) -> None:
    made = api.call("POST", "/v1/jobs", {**HOOK, "name": "payroll"}, tenant="globex").body
    run = waiting("globex")
    api.put(replace(run, id=replace(run.id, job=JobKey("globex", made["jobId"]))))
    text = api.call("GET", PATH).text
    assert not [word for word in ("4111", "payroll", made["jobId"], "example.com") if word in text]


@pytest.mark.parametrize("role", ["viewer", "worker", "submitter", "operator", "admin"])
@pytest.mark.parametrize("tenant", ["acme", "globex"])
def test_only_an_admin_of_the_operating_tenant_may_ask(api: Api, tenant: str, role: str) -> None:
    may = tenant == OPERATING and role == "admin"
    assert api.call("GET", PATH, tenant=tenant, role=role).status == (200 if may else 403)
    assert api.call("GET", PATH, tenant=tenant, role=role, bounds={"team": "a"}).status == 403


def test_pages_are_short_and_have_each_tenant_once(api: Api) -> None:
    names = [f"tenant{number:03}" for number in range(MOST_TENANTS + 3)]
    for name in names:
        assert api.call("POST", "/v1/admin/tenants", {"name": name}).status == 201
    found: list[str] = []
    query, sizes = {"limit": "200"}, []
    while query:
        body = api.call("GET", PATH, query=query).body
        sizes.append(len(body["items"]))
        found += [item["tenant"] for item in body["items"]]
        query = {"limit": "200", "cursor": body["nextCursor"]} if body["nextCursor"] else {}
    assert found == sorted(["acme", "globex", *names])
    assert sizes == [MOST_TENANTS, 5]
    assert [*health(api, query={"limit": "1"})] == ["acme"]


_PARTITIONS = 4
"""The shards of a listing; its two samples are read beside them to count it."""


class _Priced:
    """A port that counts the read units of its calls: half a unit for 4 KB of rows of 700 bytes, or of 40 names."""

    units = 0.0

    def __init__(self, port: object, called: str) -> None:
        self._port, self._called = port, called

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            result = method(*args, **kwargs)
            _Priced.units += _price(self._called + name, args, result)
            return result

        return call


def _price(called: str, args: Sequence[Any], result: Any) -> float:
    match called:
        case "runs.notable":
            return _PARTITIONS * len(args[0]) * max(1, ceil(len(result) / _PARTITIONS * 700 / 4096)) / 2
        case "runs.count_dead_letters":
            return (_PARTITIONS + 2) / 2 + int(result.count) / 40 / 2
        case "due.query":
            return sum(max(1, ceil(len(page.candidates) / 40)) for page in result) / 2
        case "due.read_oldest_days":
            return len(args[0])
        case "jobs.read" | "runs.read":
            return len(args[0]) / 2
        case "freezes.read" | "calendars.read":
            return len(args[0])
        case _:
            raise AssertionError(f"{called} has no price")


@pytest.fixture
def priced(api: Api) -> Iterator[Api]:
    """Return an API whose store counts read units, without rows that were read before."""
    priced_store = each_port(api.context.store, _Priced)
    edge = replace(api.edge, context=replace(api.context, store=priced_store, known=Known()))
    api.handle = build_api(edge)
    _Priced.units = 0.0
    yield api
    _Priced.units = 0.0


def test_a_calm_tenant_costs_five_units_and_a_page_ten_more(priced: Api) -> None:
    health(priced, query={"limit": "1"})
    one, _Priced.units = _Priced.units, 0.0
    health(priced, query={"limit": "2"})
    assert _Priced.units - one <= 5
    assert one <= 5 + 10


def test_a_tenant_with_any_number_of_late_runs_costs_at_most_twenty_units_more(priced: Api) -> None:
    health(priced)
    calm = _Priced.units
    for number in range(3 * MOST_EXAMINED):
        priced.put(waiting("globex", number))
    _Priced.units = 0.0
    assert health(priced)["globex"]["late"] == MOST_EXAMINED
    assert _Priced.units - calm <= 20


def test_many_dead_letters_are_estimated_from_a_sample(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(api.store.runs), "count_dead_letters", lambda _, __: Estimate(12_000, 110.0))
    found = health(api)["globex"]
    assert (found["dead"], found["deadExact"]) == (12_000, False)
