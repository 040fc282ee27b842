"""Zones and instants of calendars, for tests."""

from datetime import UTC, date, datetime

from tests.domain.cron.oracle import zone
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.terms.policies import CatchUp, Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import parse_instant
from timeball.domain.time.schedule import Schedule

NOW = parse_instant("2026-11-21T09:30:00Z")


def local_date(at: int, timezone: str) -> date:
    return datetime.fromtimestamp(at / 1000, UTC).astimezone(zone(timezone)).date()


def a_job(schedule: Schedule, catch_up: CatchUp, next_fire_at: int) -> Job:
    spec = JobSpec(JobKey("acme", "job"), schedule, Work(HttpTarget("https://x.example")), catch_up=catch_up)
    return Job(spec, shard=0, created_at=0, updated_at=0, next_fire_at=next_fire_at)
