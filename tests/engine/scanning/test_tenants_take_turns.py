"""However much one tenant stores, another tenant's only due entry is in the first chunk of a scan."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.engine.play import NOW, Play, spec
from timeball.domain.backfill import BackfillStatus, instants, new_backfill
from timeball.domain.model.ids import BackfillKey, JobKey, Origin, RunId, Shards
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import DAY_MS, MINUTE_MS
from timeball.domain.time.schedule import At, Every

MANY = 10_000


def _store_jobs(play: Play, tenant: str, number: int, due_at: int) -> None:
    specs = (replace(spec("job", At(due_at)), key=JobKey(tenant, f"job-{n}")) for n in range(number))
    play.store.jobs.insert([new_job(one, NOW - DAY_MS, Shards(1)) for one in specs], NOW)


def _store_runs(play: Play, tenant: str, number: int, due_at: int) -> None:
    """Store runs that have not been sent yet."""
    ids = [RunId(JobKey(tenant, "job"), due_at + n, Origin.MANUAL) for n in range(number)]
    runs = [Run(one, RunState.QUEUED, 1, "normal", 0, due_at, due_at, due_at=due_at) for one in ids]
    play.store.runs.insert(runs, NOW)


def _store_backfills(play: Play, tenant: str, number: int, due_at: int) -> None:
    job = new_job(replace(spec("job", Every(60, NOW + DAY_MS)), key=JobKey(tenant, "job")), NOW - DAY_MS, Shards(1))
    fires = list(instants(job.spec.schedule, NOW - DAY_MS, NOW - DAY_MS + 5 * MINUTE_MS))
    rows = [
        new_backfill(BackfillKey(job.key, f"bf{n}"), job, fires, 1, OverlapPolicy.ALLOW, due_at) for n in range(number)
    ]
    play.store.jobs.insert([job], NOW)
    play.store.backfills.insert([replace(one, status=BackfillStatus.RUNNING) for one in rows], NOW)


STORED: dict[str, Callable[[Play, str, int, int], None]] = {
    "jobs": _store_jobs,
    "runs": _store_runs,
    "backfills": _store_backfills,
}


@pytest.mark.parametrize("kind", STORED)
def test_another_tenants_due_entry_is_among_the_first_two(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    play, sent = Play(), list[list[str]]()
    STORED[kind](play, "crowd", MANY, NOW - 30_000)
    STORED[kind](play, "other", 1, NOW + 2_000)
    send = play.queue.send

    def noting(runs: list[Run], now: int) -> list[bool]:
        sent.append([run.id.job.tenant for run in runs])
        return send(runs, now)

    monkeypatch.setattr(play.queue, "send", noting)
    assert play.scan().backlog
    assert sent[0].index("other") <= 1
    assert sent[0].count("other") == 1


def test_a_scan_over_its_limit_is_cut_off_in_turns_of_tenants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("timeball.engine.scanning.scan._MAX_NOMINATED", 10)
    play = Play()
    _store_jobs(play, "crowd", 100, NOW - 30_000)
    _store_jobs(play, "other", 3, NOW - 1_000)
    assert play.scan().sent == 10
    assert sum(run.job.tenant == "other" for run, _ in play.messages()) == 3
