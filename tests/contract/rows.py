"""The jobs and runs that the contract's cases write."""

from timeball.domain.ids import JobKey, Origin, RunId
from timeball.domain.instants import parse_instant
from timeball.domain.job import HttpTarget, Job, Priority, Work
from timeball.domain.retry import Jitter, RetryPolicy
from timeball.domain.run import Run, RunState
from timeball.domain.schedule import At, Every, Schedule

NOW = parse_instant("2026-11-21T09:30:00.250Z")
KEY = JobKey("acme", "job")


def work(characters: int = 20) -> Work:
    return Work(HttpTarget("https://target.example/hook", "PUT", {"x-für": "✓"}), '"' + "ä" * characters + '"')


def job(name: str = "job", *, due_at: int | None = NOW, characters: int = 20, shard: int = 0) -> Job:
    return Job(
        key=JobKey("acme", name),
        schedule=Schedule(Every(60, NOW), start_at=NOW, end_at=NOW + 10**9, max_runs=7),
        work=work(characters),
        shard=shard,
        created_at=NOW,
        updated_at=NOW,
        name="Zürich 🕰 'quoted' \"twice\"",
        tags={"città": "Forlì", "empty": ""},
        priority=Priority.NORMAL,
        retry=RetryPolicy(2, 7, 1.5, 100, Jitter.NONE, 3600),
        next_fire_at=due_at,
        due_at=due_at,
        fingerprint="print",
    )


def one_off(name: str = "job") -> Job:
    row = job(name)
    return Job(
        key=row.key,
        schedule=Schedule(At(NOW)),
        work=row.work,
        shard=0,
        created_at=NOW,
        updated_at=NOW,
        next_fire_at=NOW,
        due_at=NOW,
        final_fire_at=NOW,
    )


def run_id(fire_at: int = NOW, origin: Origin = Origin.SCHEDULE, key: JobKey = KEY) -> RunId:
    return RunId(key, fire_at, origin)


def run(
    fire_at: int = NOW,
    state: RunState = RunState.QUEUED,
    origin: Origin = Origin.SCHEDULE,
    due_at: int | None = None,
    last_fire_at: int | None = None,
) -> Run:
    return Run(
        id=run_id(fire_at, origin),
        state=state,
        stamp=1,
        priority="normal",
        shard=0,
        not_before=fire_at,
        created_at=NOW,
        due_at=due_at,
        last_fire_at=last_fire_at,
        finished_at=NOW if state in (RunState.SKIPPED, RunState.SUCCEEDED) else None,
    )
