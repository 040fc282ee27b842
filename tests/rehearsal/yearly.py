"""Twenty jobs in five zones, rehearsed against a real receiver, and held against the previews of their schedules."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from timeball.client import Cron, Job
from timeball.client.connection import load_httpx
from timeball.rehearsal import Rehearsal

_ZONES = ("Europe/Berlin", "America/New_York", "UTC", "Asia/Kathmandu", "Australia/Lord_Howe")
_EXPRESSIONS = (
    "0 2 * * *",
    "30 2 * * *",
    "*/15 2-5 * * *",
    "15 */3 * * *",
    "5 1-23/2 * * MON-FRI",
    "*/30 9-17 * * *",
    "0 0 L * *",
    "45 1,2,3 * * *",
    "10 */2 * * *",
    "20 8-20/3 * * *",
)
SCHEDULES = {f"job-{n}": Cron(_EXPRESSIONS[n % len(_EXPRESSIONS)], _ZONES[n % len(_ZONES)]) for n in range(20)}
"""Fixed-time jobs and interval-like ones, at the hours at which clocks change."""


@dataclass(frozen=True)
class Arrived:
    """A call as the receiver has noted it."""

    job_id: str
    run_id: str
    attempt: str
    fire_time: datetime
    now: datetime


@contextmanager
def receiver(noted: Path) -> Iterator[str]:
    """Run the receiver; yield its URL."""
    command = [sys.executable, str(Path(__file__).with_name("receiver.py")), str(noted)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/hook"
        finally:
            process.terminate()


def arrived(noted: Path) -> list[Arrived]:
    lines = [line.split("\t") for line in noted.read_text(encoding="utf-8").splitlines()]
    return [
        Arrived(job, run, attempt, datetime.fromisoformat(fire), datetime.fromisoformat(now))
        for job, run, attempt, fire, now in lines
    ]


def previewed(rehearsal: Rehearsal, until: datetime) -> dict[str, list[datetime]]:
    """Return the fire times from now on, up to an instant, as the API previews them: by job, page by page."""
    return {name: list(_fires(rehearsal, cron, until)) for name, cron in SCHEDULES.items()}


def _fires(rehearsal: Rehearsal, cron: Cron, until: datetime) -> Iterator[datetime]:
    after = rehearsal.now
    while True:
        page = [one.fire_time for one in rehearsal.client.preview(cron, from_=after, count=100).items]
        for fire in page:
            if fire > until:
                return
            yield fire
        after = page[-1] + timedelta(milliseconds=1)


def rehearse(start: str, days: int, noted: Path) -> tuple[dict[str, list[datetime]], list[Arrived]]:
    """Rehearse all jobs for some days; return what was previewed, and what has arrived."""
    load_httpx()
    with receiver(noted) as url, Rehearsal(start) as rehearsal:
        until = rehearsal.now + timedelta(days=days)
        expected = previewed(rehearsal, until)
        rehearsal.calls_for_real(url)
        for name, cron in SCHEDULES.items():
            rehearsal.client.jobs.put(name, Job(call=url, when=cron))
        calls = rehearsal.run_until(until)
        got = arrived(noted)
        assert len(calls) == len(got)
    return expected, got


def assert_as_previewed(expected: dict[str, list[datetime]], got: list[Arrived]) -> None:
    """Assert that each previewed fire has arrived once, and nothing else; in order, and none early."""
    assert {name: [one.fire_time for one in got if one.job_id == name] for name in expected} == expected
    assert len({one.run_id for one in got}) == len(got)
    assert {one.attempt for one in got} == {"1"}
    assert [one.now for one in got] == sorted(one.now for one in got)
    assert [one for one in got if not timedelta() <= one.now - one.fire_time < timedelta(seconds=1)] == []
