"""`/v1/slo` tells the truth: what is due and never started counts against the objective, whatever is dead."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import NOW, Api
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.notable import noted
from timeball.domain.model.runs.run import Permit, Run, RunState, Waiting
from timeball.domain.time.instants import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, format_instant
from timeball.domain.usage.hours import Figures, HourKey, hour_of
from timeball.engine.objective import overdue
from timeball.engine.scanning.buckets import Sweeps
from timeball.engine.scanning.scan import scan
from timeball.engine.tally import FLUSH_MS
from timeball.ports.due_index import Owner

IN_TIME = {"within1Second": 1.0, "within5Seconds": 1.0, "within30Seconds": 1.0}


def slo(api: Api, window: str = "hour", tenant: str = "acme") -> Any:
    answer = api.call("GET", "/v1/slo", tenant=tenant)
    assert answer.status == 200, answer.text
    return answer.body["windows"][window]["total"]


def waiting_run(job: Mapping[str, Any], **fields: Any) -> Run:
    run_id = RunId(JobKey("acme", job["jobId"]), NOW, Origin.SCHEDULE)
    return replace(noted(Run(run_id, RunState.QUEUED, 1, "normal", 0, NOW, NOW)), **fields)


@pytest.mark.parametrize(
    ("figures", "shares"),
    [
        (Figures(0, 0, 0, 0, 0, {}), (None, None, None)),
        (Figures(3, 3, 0, 0, 0, {40: 3}), (1.0, 1.0, 1.0)),
        (Figures(3, 3, 0, 0, 1, {40: 3}, missed=1), (0.75, 0.75, 0.75)),
        (Figures(0, 0, 0, 0, 1, {}, missed=1), (0.0, 0.0, 0.0)),
        (Figures(3, 3, 0, 0, 5, {40: 3}), (1.0, 1.0, 1.0)),  # skipped for reasons of their own
        # An overdue start misses the bounds that have passed; about the others nothing is known yet.
        (Figures(3, 3, 0, 0, 0, {40: 3}, overdue=(6_000,)), (0.75, 0.75, 1.0)),
        (Figures(3, 3, 0, 0, 0, {40: 3}, overdue=(31_000,)), (0.75, 0.75, 0.75)),
    ],
)
def test_the_share_on_time_counts_what_should_have_started(
    figures: Figures, shares: tuple[float | None, float | None, float | None]
) -> None:
    assert tuple(figures.on_time().values()) == shares


def test_the_percentiles_count_overdue_starts_with_their_lateness_so_far() -> None:
    assert Figures(1, 1, 0, 0, 0, {40: 1}, overdue=(60_000,)).percentile_ms(0.99) == 60_000


def test_with_a_dead_ticker_each_fire_that_is_due_counts_against_the_objective(api: Api) -> None:
    api.create(everySeconds=60, anchorAt=format_instant(NOW + MINUTE_MS))
    api.create(scheduleAt=format_instant(NOW + MINUTE_MS), priority="high")
    api.store.usage.add([(HourKey("acme", hour_of(NOW), "normal"), {"RunsStarted": 1, "Lateness.40": 1})], NOW)
    assert slo(api)["onTime"] == IN_TIME
    api.clock.advance(5 * MINUTE_MS + 10 * SECOND_MS)
    found = slo(api)
    assert (found["overdue"], found["onTime"]["within5Seconds"]) == (6, 1 / 7)
    assert found["onTime"]["within30Seconds"] == 1 / 6  # the newest of them is only ten seconds late
    assert slo(api, tenant="globex")["overdue"] == 0
    body = api.call("GET", "/v1/slo").body
    assert body["windows"]["hour"]["byPriority"]["high"]["overdue"] == 1
    assert body["windows"]["month"]["total"]["overdue"] == 6
    assert body["overdueExact"] is True


def test_a_short_window_has_the_fires_that_were_due_in_it(api: Api) -> None:
    api.create(everySeconds=60, anchorAt=format_instant(NOW + MINUTE_MS))
    api.clock.advance(30 * MINUTE_MS)
    body = api.call("GET", "/v1/slo").body["windows"]
    since = api.clock.now() - 5 * MINUTE_MS
    from_at = since - since % (5 * MINUTE_MS)
    expected = sum(NOW + n * MINUTE_MS >= from_at for n in range(1, 30))
    assert 5 <= expected < 10
    assert body["fiveMinutes"]["total"]["overdue"] == expected
    assert body["fiveMinutes"]["total"]["onTime"]["within1Second"] == 0.0


def test_a_ticker_that_has_been_dead_for_days_still_shows(api: Api) -> None:
    api.tick()
    api.create(scheduleAt=format_instant(NOW + MINUTE_MS))
    api.clock.advance(6 * DAY_MS)
    assert slo(api, "month")["overdue"] == 1
    assert slo(api, "day")["overdue"] == 0


def test_a_late_run_that_no_executor_claims_counts(api: Api) -> None:
    job = api.create(everySeconds=3600)
    api.store.runs.clear()
    api.put(waiting_run(job))
    api.clock.advance(4 * SECOND_MS)
    assert slo(api)["overdue"] == 0
    api.clock.advance(4 * SECOND_MS)
    assert slo(api)["overdue"] == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"waiting": Waiting("database", Permit.SLOT), "reason": Reason.LIMIT_WAIT},
        {"waits": True, "reason": Reason.WAITING_FOR_PARENTS},
        {"reason": Reason.CIRCUIT_OPEN},
        {"attempt": 1, "budget_at": NOW},  # a manual retry
        {"state": RunState.RUNNING, "attempt": 1, "claimed_at": NOW},
        {"not_before": NOW + HOUR_MS},
    ],
)
def test_a_run_that_waits_for_something_is_not_overdue(api: Api, fields: dict[str, Any]) -> None:
    job = api.create(everySeconds=3600)
    api.store.runs.clear()
    api.put(waiting_run(job, **fields))
    api.clock.advance(MINUTE_MS)
    assert slo(api)["overdue"] == 0


def test_paused_frozen_and_excluded_fires_are_not_overdue(api: Api) -> None:
    at = {"everySeconds": 60, "anchorAt": format_instant(NOW + MINUTE_MS)}
    paused = api.create(**at)
    api.call("POST", f"/v1/jobs/{paused['jobId']}/pause")
    api.create(**at, tags={"team": "blue"})
    api.call("POST", "/v1/freezes", {"match": {"tags": {"team": "blue"}}})
    api.call("POST", "/v1/calendars", {"name": "closed", "timezone": "UTC", "dates": ["2026-11-21"]})
    api.create(**at, calendar={"name": "closed"})
    api.clock.advance(10 * MINUTE_MS)
    assert slo(api)["overdue"] == 0


def test_fires_that_an_outage_lets_pass_are_missed_and_those_of_a_pause_are_not(api: Api) -> None:
    api = Api(counts=True)
    at = {"everySeconds": 60, "anchorAt": format_instant(NOW + MINUTE_MS), "catchUp": {"policy": "skip"}}
    going, paused = api.create(**at), api.create(**at)
    api.call("POST", f"/v1/jobs/{paused['jobId']}/pause")
    api.clock.advance(10 * MINUTE_MS)
    api.call("POST", f"/v1/jobs/{paused['jobId']}/resume")
    for _ in range(3):
        scan(api.context, 0, Owner("2026-11-21T09:40:00Z", "loop"), Sweeps())
        api.clock.advance(SECOND_MS)
    api.clock.advance(FLUSH_MS)
    api.flush()
    found = slo(api)
    passed = {job["jobId"]: 0 for job in (going, paused)}
    for run in api.store.runs.values():
        passed[run.id.job.job_id] += run.count if run.reason is Reason.MISFIRED else 0
    assert passed[paused["jobId"]] > 0
    assert found["skipped"] == sum(passed.values())
    assert found["missed"] == passed[going["jobId"]] == 8
    assert found["onTime"]["within30Seconds"] == 0.0


def test_more_overdue_starts_than_are_counted_are_said_to_be_more(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overdue, "MOST_FIRES", 3)
    api.create(everySeconds=60, anchorAt=format_instant(NOW + MINUTE_MS))
    api.clock.advance(10 * MINUTE_MS)
    body = api.call("GET", "/v1/slo").body
    assert (body["overdueExact"], body["windows"]["hour"]["total"]["overdue"]) == (False, 3)
