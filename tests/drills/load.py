"""Drills of load and of what people, tenants and targets do: throttles, floods, poison, failing targets, late runs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from tests.drills.deployment import OPERATORS, Broken, Deployment
from tests.drills.drill import Drill, jobs, on_time
from tests.engine.play import spec
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.freeze import Freezes
from timeball.domain.model.jobs.job import Job, Priority, with_spec
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Cron, Every, Schedule
from timeball.ports.queue import Delivery
from timeball.ports.rows import Swap
from timeball.ports.target import Call

FLOOD = "flood"
_FLOODING, _AT_ONCE, _CALL_MS = 200, 4, 2_000


def _throttle(deployment: Deployment) -> None:
    deployment.broken = Broken(throttled=True)


def _with_a_stuck_job(deployment: Deployment) -> None:
    deployment.submit(jobs(deployment))
    deployment.submit([spec("stuck", Every(20, deployment.clock.now()))])


def _refuse_stuck(deployment: Deployment) -> None:
    deployment.broken = Broken(refuses=_is_stuck)


def _is_stuck(_: str, name: str, items: Sequence[object]) -> bool:
    return name == "jobs.swap" and any(isinstance(one, Swap) and _id_of(one.before) == "stuck" for one in items)


def _id_of(row: object) -> str:
    return row.key.job_id if isinstance(row, Job) else ""


def _bind_flood(deployment: Deployment) -> None:
    deployment.submit(jobs(deployment))
    deployment.store.freezes.insert([Freezes(FLOOD, quotas=Quotas(runs_at_once=_AT_ONCE))], deployment.clock.now())
    deployment.takes_ms = _CALL_MS


def _flood(deployment: Deployment) -> None:
    at = deployment.clock.now() + 10 * SECOND_MS
    deployment.submit(
        replace(spec(f"flood-{number}", At(at)), key=JobKey(FLOOD, f"flood-{number}")) for number in range(_FLOODING)
    )


def _only_the_flood_waits(deployment: Deployment, from_at: int, to_at: int) -> Iterator[str]:
    yield from on_time("normal")(deployment, from_at, to_at)
    calls = [at for at, call in deployment.calls if call.run.job.tenant == FLOOD]
    if len(calls) != _FLOODING:
        yield f"{len(calls)} of {_FLOODING} runs of the flood were called"
    elif calls[-1] - calls[0] < _FLOODING // _AT_ONCE * _CALL_MS // 2:
        yield "the flood was not held back"


def _poison_a_row(deployment: Deployment) -> None:
    deployment.submit([spec("poisoned", Every(20, deployment.clock.now()))])
    key = JobKey("acme", "poisoned")
    job = deployment.store.jobs[key]
    gone = with_spec(job, schedule=Schedule(Cron("* * * * *", "No/Where")))
    deployment.store.jobs.swap([Swap(job, gone)], deployment.clock.now())


def _take_out(deployment: Deployment) -> None:
    deployment.broken = Broken()
    del deployment.store.jobs[JobKey("acme", "poisoned")]


def _fail_targets(deployment: Deployment) -> None:
    deployment.broken = Broken(status=lambda call: 200 if call.run.job.tenant == OPERATORS else 400)


def _every_run_is_a_dead_letter(deployment: Deployment, from_at: int, to_at: int) -> Iterator[str]:
    for run in (run for key in deployment.store.jobs for run in deployment.runs(key)):
        is_failed = run.state is RunState.FAILED
        if is_failed != (from_at <= run.id.fire_at < to_at and run.id.job.tenant != OPERATORS):
            yield f"{run.id} is {run.state}"


def _fail_some_hosts(deployment: Deployment) -> None:
    deployment.broken = Broken(status=_first_try_fails)


def _first_try_fails(call: Call) -> int:
    return 503 if call.attempt == 1 and call.run.job.tenant != OPERATORS else 200


def _low_jobs(deployment: Deployment, seconds: int, count: int = 3) -> None:
    deployment.submit(jobs(deployment, count, seconds, Priority.LOW))


def _begin_late(deployment: Deployment, one_of: int) -> None:
    """Let executors begin 5 s late with one of so many runs of low priority: 2 s after their instant."""
    seen = 0

    def late_ms(delivery: Delivery) -> int:
        nonlocal seen
        if not delivery.run.job.job_id.startswith(Priority.LOW):
            return 0
        seen += 1
        return 5 * SECOND_MS if seen % one_of == 0 else 0

    deployment.broken = Broken(begins_late_ms=late_ms)


def _let_strangers_come(deployment: Deployment) -> None:
    deployment.broken = Broken(strangers=True)


def _set_clocks(deployment: Deployment, executors_ms: int, scans_ms: int) -> None:
    for part in deployment.executors:
        part.skew_ms = executors_ms
    for part in deployment.scanners:
        part.skew_ms = scans_ms


def _mend_clocks(deployment: Deployment) -> None:
    _set_clocks(deployment, 0, 0)


_CLOCKS = (1.5, 14, 8)

DRILLS: Sequence[Drill] = (
    Drill(
        "table-throttled",
        "the table: it refuses each write three times, and then accepts it",
        _throttle,
        {"Throttled": 240},
        "all runs are on time, since refused requests are repeated",
        on_time("normal"),
    ),
    Drill(
        "behind",
        "one job's row: each write of it is refused, so the job is overdue",
        _refuse_stuck,
        {"Behind": 300},
        "all runs of other jobs are on time",
        on_time("normal"),
        begins=_with_a_stuck_job,
    ),
    Drill(
        "flooding-tenant",
        "a tenant with a quota of four runs at once has 200 runs at one instant",
        _flood,
        {},
        "all runs of others are on time, all of the flood run: waiting for a quota is not lateness",
        _only_the_flood_waits,
        begins=_bind_flood,
    ),
    Drill(
        "poison-message",
        "a message that no function can read",
        lambda deployment: deployment.keep_unreadable("no JSON"),
        {"Unreadable": 120},
        "all runs are on time",
        on_time("normal"),
        mends=lambda deployment: deployment.unreadable.clear(),
    ),
    Drill(
        "poisoned-job",
        "a job that cannot be planned, because its time zone is gone",
        _poison_a_row,
        {},
        "all runs of other jobs are on time",
        on_time("normal"),
        mends=_take_out,
    ),
    Drill(
        "targets-fail",
        "the targets: each answers 400",
        _fail_targets,
        {"DeadLetters": 240},
        "each run is called once, and is a dead letter",
        _every_run_is_a_dead_letter,
    ),
    Drill(
        "targets-shaky",
        "the targets: each first attempt gets a 503",
        _fail_some_hosts,
        {},
        "each run succeeds in a later attempt",
    ),
    Drill(
        "invalid-keys",
        "a request with an unknown key comes each second",
        _let_strangers_come,
        {"AuthenticationsFailed": 180},
        "all runs are on time",
        on_time("normal"),
    ),
    Drill(
        "runs-late-fast",
        "the executors of `low`: each run begins 2 s late",
        lambda deployment: _begin_late(deployment, 1),
        {"LateFast": 720},
        minutes=(1.5, 11, 8),
        begins=lambda deployment: _low_jobs(deployment, 20),
    ),
    Drill(
        "runs-late-slow",
        "the executors of `low`: one of eight runs begins 2 s late, for three hours",
        lambda deployment: _begin_late(deployment, 8),
        {"LateSlow": 13_000},
        minutes=(1.5, 190, 31),
        begins=lambda deployment: _low_jobs(deployment, 60),
        runs_a_minute=3,
        leaps=True,
    ),
    Drill(
        "runs-late-for-days",
        "the executors of `low`: one of fourteen runs begins 2 s late, for three days",
        lambda deployment: _begin_late(deployment, 14),
        {"LateForDays": 259_200},
        minutes=(1.5, 3 * 1440, 10),
        begins=lambda deployment: _low_jobs(deployment, 600, 1),
        runs_a_minute=1,
        leaps=True,
        is_long=True,
    ),
    *(
        Drill(
            f"executors-{word}",
            f"the clocks of the executors: 3 s {word}",
            partial(_set_clocks, executors_ms=ms, scans_ms=0),
            {"CanaryOffTime": 960},
            f"each run is called once, 3 s {'early' if ms > 0 else 'late'}",
            mends=_mend_clocks,
            minutes=_CLOCKS,
        )
        for word, ms in (("ahead", 3_000), ("behind", -3_000))
    ),
    *(
        Drill(
            f"scans-{word}",
            f"the clocks of the scans: 3 s {word}",
            partial(_set_clocks, executors_ms=0, scans_ms=ms),
            {},
            "all runs are on time: an executor decides by its own clock",
            on_time("normal"),
            mends=_mend_clocks,
            minutes=_CLOCKS,
        )
        for word, ms in (("ahead", 3_000), ("behind", -3_000))
    ),
)
