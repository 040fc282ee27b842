"""The worked examples of docs/concepts/schedules.md match the policies: jitter, catch-up, overlap."""

import json
import re
from dataclasses import replace
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.docs.readme import ROOT, read
from tests.engine.play import Play, spec
from tests.engine.service import KEY, Service
from timeball.api.jobs.request import read_job_request
from timeball.api.jobs.spec import spec_of
from timeball.domain.model.ids import JobKey, Origin, Shards
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.planning.blackouts import Blackouts, blackouts_of
from timeball.domain.planning.ledger import queued_run
from timeball.domain.planning.planner import jitter_ms, may_start_at
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS, format_instant, parse_instant
from timeball.domain.time.preview import preview
from timeball.domain.time.schedule import Cron, Every, Schedule
from timeball.domain.time.spans import local_days
from timeball.engine.context import Rules

PAGE = read(ROOT / "docs/concepts/schedules.md")
NINE = parse_instant("2026-11-21T09:00:00Z")


def _rows(heading: str) -> list[list[str]]:
    """Return the cells of the table with this heading, without code marks."""
    table = PAGE.partition(heading)[2].partition("\n\n")[0].splitlines()[2:]
    assert table, f"no table begins with {heading}"
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in table]


def _minute(at: int) -> str:
    return format_instant(at)[11:16]


def _second(at: int) -> str:
    return format_instant(at)[11:19]


@pytest.mark.parametrize(("fire_time", "starts"), _rows("| fire time | starts |"))
def test_a_jittered_fire_starts_when_the_page_says(fire_time: str, starts: str) -> None:
    fire_at = parse_instant(fire_time)
    assert format_instant(fire_at + jitter_ms(JobKey("acme", "nightly"), fire_at, 600)) == starts


@pytest.mark.parametrize(("expression", "fire_time", "starts"), _rows("| `cronExpression` | fire time | starts |"))
def test_a_fire_starts_on_the_next_allowed_day_as_the_page_says(expression: str, fire_time: str, starts: str) -> None:
    day = date(2026, 11, 28).toordinal() - date(1970, 1, 1).toordinal()
    excluded = Blackouts(local_days("Europe/Berlin", ((day, day + 3),)), moves_in="Europe/Berlin")
    (found,) = (
        excluded.starts_at(Schedule(Cron(expression, "Europe/Berlin")), fire.fire_at)
        for fire in preview(Schedule(Cron(expression, "Europe/Berlin")), NINE, 30)
        if fire_time.endswith(fire.local_time[:16].replace("T", " "))
    )
    shown = "skipped"
    if found is not None:
        shown = datetime.fromtimestamp(found / 1000, ZoneInfo("Europe/Berlin")).strftime("%a %Y-%m-%d %H:%M")
    assert shown == starts


@pytest.mark.parametrize(("catch_up", "runs", "skipped"), _rows("| `catchUp` | runs, and starts | skipped |"))
def test_missed_fires_are_caught_up_as_the_page_says(catch_up: str, runs: str, skipped: str) -> None:
    job = _each_minute(json.loads(catch_up))
    now = NINE + 10 * MINUTE_MS + 30 * SECOND_MS
    missed = [NINE + minute * MINUTE_MS for minute in range(1, 11)]
    starts = [
        (at, may_start_at(job, queued_run(job, Origin.SCHEDULE, at, at), now, Rules().misfire_ms)) for at in missed
    ]
    assert starts.pop() == (missed[-1], missed[-1]), "09:10 is not missed"
    kept = [f"{_minute(at)} at {_second(start_at)}" for at, start_at in starts if start_at is not None]
    left_out = [_minute(at) for at, start_at in starts if start_at is None]
    assert ", ".join(kept) == runs.replace("none", "")
    assert f"{left_out[0]} to {left_out[-1]}" == skipped


@pytest.mark.parametrize(("catch_up", "runs", "skipped"), _rows("| `catchUp`, after the pause |"))
def test_fires_of_a_pause_are_caught_up_as_the_page_says(catch_up: str, runs: str, skipped: str) -> None:
    now = NINE + 10 * MINUTE_MS + 30 * SECOND_MS
    job = replace(_each_minute(json.loads(catch_up)), last_paused_at=NINE + 30 * SECOND_MS, resumed_at=now)
    starts = [
        (
            at,
            may_start_at(
                job, queued_run(job, Origin.SCHEDULE, at, at), now, Rules().misfire_ms, blackouts_of(job, None, ())
            ),
        )
        for at in (NINE + minute * MINUTE_MS for minute in range(1, 11))
    ]
    kept = [f"{_minute(at)} at {_second(start_at)}" for at, start_at in starts if start_at is not None]
    left_out = [_minute(at) for at, start_at in starts if start_at is None]
    assert ", ".join(kept) == runs.replace("none", "")
    assert f"{left_out[0]} to {left_out[-1]}" == skipped


def _each_minute(catch_up: dict[str, Any]) -> Job:
    body = {"handler": "https://example.com", "everySeconds": 60, "anchorAt": format_instant(NINE), "catchUp": catch_up}
    request, errors, _ = read_job_request(body, NINE)
    assert not errors
    return new_job(spec_of(request, KEY, "print", NINE), NINE, Shards(1))


OVERLAPS = _rows("| policy | 09:00 | 09:01 |")


@pytest.mark.parametrize("cells", OVERLAPS, ids=[cells[0] for cells in OVERLAPS])
def test_overlapping_runs_behave_as_the_page_says(cells: list[str]) -> None:
    schedule = Schedule(Every(60, NINE), end_at=NINE + 4 * MINUTE_MS)
    play = Play(at=NINE - 10 * SECOND_MS)
    with Service(play) as service:
        play.store_jobs([replace(spec(KEY.job_id, schedule), overlap=OverlapPolicy(cells[0]))])
        service.target.takes = lambda _: 150 * SECOND_MS
        service.until(NINE + 20 * MINUTE_MS)
    visits = {visit.run: visit for visit in service.target.visits}
    seen = []
    for run in play.runs(KEY):
        match run.state:
            case RunState.SUCCEEDED:
                seen.append(f"starts {_second(visits[run.id].from_at)}")
            case RunState.CANCELLED:
                seen.append(f"stopped {_second(visits[run.id].to_at)}")
            case state:
                seen.append(state.value)
    assert seen == cells[1:]


def test_every_policy_has_its_row() -> None:
    assert [cells[0] for cells in OVERLAPS] == [policy.value for policy in OverlapPolicy]
    assert [cells[0] for cells in _rows("| policy | the new run |")] == [policy.value for policy in OverlapPolicy]
    assert re.search(r"misfire_seconds", PAGE)
    assert Rules().misfire_seconds == 60
