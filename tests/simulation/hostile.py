"""A tenant that tries to delay others: calls that hang as long as they may, floods, a thousand backfills.

`make fairness` prints how late the runs of others began. test_hostile.py holds smaller figures, and shows that they are
worse without each of the rules that protect the others.
"""

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.engine.play import spec
from tests.simulation.contention import Contention
from tests.simulation.executors import SUCCESSORS, Calls, Rule
from timeball.domain.backfill import instants, new_backfill
from timeball.domain.model.ids import BackfillKey, JobKey, Shards
from timeball.domain.model.jobs.job import JobSpec, Priority
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.sharing.capacity import granted
from timeball.domain.time.instants import DAY_MS, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every
from timeball.engine.backfills import create_backfills
from timeball.engine.scheduling.submit import submit

HANGS_SECONDS = 840
FEW = {"high": 9, "normal": 5, "low": 2}
BEGINS_AT = 10
"""When (s) the hostile tenant strikes. The others have a job each second from then on."""


def contention_of(
    executors: Mapping[str, int] = FEW,
    quotas: Mapping[str, int] | None = None,
    *,
    takes_more: bool = True,
    hang_seconds: float = HANGS_SECONDS,
    may_last_seconds: int = 300,
    rule: Rule = granted,
    successors: int = SUCCESSORS,
) -> Contention:
    """Return executors and a tenant whose calls hang. Calls of the quiet tenant may last `may_last_seconds`."""
    hang_ms = int(hang_seconds * SECOND_MS)
    calls = Calls({"hostile": hang_ms}, {"hostile": hang_ms, "quiet": may_last_seconds * SECOND_MS})
    return Contention(
        executors, calls=calls, quotas=dict(quotas or {}), takes_more=takes_more, rule=rule, successors=successors
    )


def beside_hanging(
    contention: Contention, calls: int, seconds: int, apart_seconds: float = 0, each_seconds: int = 1
) -> Contention:
    """Let calls of one tenant hang, in each priority, and give another runs of each priority, from 10 s later on.

    `apart_seconds` is the time between the hanging calls. Spread out they reach more executors than at once, ten to
    each.
    """
    hang_from = [BEGINS_AT + number * apart_seconds for number in range(calls)]
    for priority in contention.executors:
        contention.store_jobs("hostile", hang_from, Priority(priority), f"tarpit-{priority}")
        contention.store_jobs(
            "quiet", range(BEGINS_AT + 10, seconds, each_seconds), Priority(priority), f"job-{priority}"
        )
    contention.play(seconds)
    return contention


def besieged(contention: Contention, size: int, seconds: int) -> Contention:
    """Let one tenant do all at once: `size` tarpits, as many backfills, a tenth as many submits each second."""
    _backfill(contention, size)
    submitted = 0

    def flood() -> None:
        nonlocal submitted
        now = contention.clock.now()
        if now >= contention.begun_at + BEGINS_AT * SECOND_MS:
            jobs = [
                replace(_spec(f"flood-{submitted + n}", At(now)), priority=list(Priority)[n % 3])
                for n in range(size // 10)
            ]
            submit(contention.context, jobs, now)
            submitted += len(jobs)

    for priority in contention.executors:
        contention.store_jobs("hostile", [BEGINS_AT] * size, Priority(priority), f"tarpit-{priority}")
        for number in range(3):
            due = range(BEGINS_AT, seconds)
            contention.store_jobs(f"quiet-{number}", due, Priority(priority), f"job-{priority}")
    contention.play(seconds, flood)
    return contention


def _backfill(contention: Contention, number: int) -> None:
    now = contention.begun_at
    job = new_job(_spec("backfilled", Every(60, now + DAY_MS)), now - DAY_MS, Shards(contention.shards))
    contention.store.jobs.insert([job], now)
    fires = list(instants(job.spec.schedule, now - 30 * DAY_MS, now - 30 * DAY_MS + 100 * MINUTE_MS))
    asked = [
        new_backfill(BackfillKey(job.key, f"bf{n}"), job, fires, 0, OverlapPolicy.ALLOW, now) for n in range(number)
    ]
    create_backfills(contention.context, asked)


def _spec(name: str, timing: At | Every) -> JobSpec:
    return replace(spec(name, timing), key=JobKey("hostile", name))


def latest(contention: Contention) -> float:
    """Return how late (s) the latest run of the others began, or is by now."""
    tenants = {key.tenant for key in contention.priorities} - {"hostile"}
    return max(late for tenant in tenants for late in contention.lateness(tenant))


MINUTES = 60


def main() -> int:
    """Print the figures."""
    print("runs of others, each second in each priority: how late the latest began, in s")

    def show(name: str, contention: Contention) -> None:
        print(f"  {name}: {latest(contention):.1f}", flush=True)

    def hanging(calls: int, seconds: int, apart: float = 0, each: int = 1, **how: Any) -> Contention:
        return beside_hanging(contention_of(**how), calls, seconds, apart, each)

    show("beside 1,000 calls in each priority that hang for 840 s, 2 minutes", hanging(1_000, 2 * MINUTES))
    show("if executors took nothing more", hanging(1_000, 2 * MINUTES, takes_more=False))
    show("beside 1,500 for half an hour, each run of the others being allowed 300 s", hanging(1_500, 30 * MINUTES))
    show("if no executor had a successor", hanging(300, 15 * MINUTES, successors=0))
    own = hanging(1_200, 30 * MINUTES, 1.5, hang_seconds=300, executors={"normal": 5}, successors=0)
    show("if calls of up to 300 s had five executors and a queue of their own instead", own)
    show("if those of the others came each 97 s", hanging(1_500, 30 * MINUTES, each=97))
    show("if calls hung for 455 s, until successors are there", hanging(1_500, 30 * MINUTES, hang_seconds=455))
    show("if they came each 30 s, and were allowed 840 s", hanging(1_500, 30 * MINUTES, each=30, may_last_seconds=840))
    show("one call after the other for half an hour", hanging(700, 30 * MINUTES, apart=2.3))
    bounded = hanging(700, 30 * MINUTES, apart=2.3, quotas={"hostile": 20})
    show("that, and 20 runs at once for the tenant", bounded)
    siege = besieged(contention_of(), 1_000, 2 * MINUTES)
    show("beside 1,000 backfills, 3,000 hanging calls, 100 submissions a second", siege)
    return 0


if __name__ == "__main__":
    sys.exit(main())
