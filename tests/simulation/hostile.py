"""A tenant that wants to delay others: calls that hang for as long as they may, floods, a thousand backfills.

`make fairness` prints how late the runs of others began; test_hostile.py holds smaller figures, and that they are worse
without each of the rules that protect the others.
"""

import sys
from collections.abc import Mapping
from dataclasses import replace

from tests.engine.play import spec
from tests.simulation.contention import Contention
from tests.simulation.executors import Calls, Rule
from timeball.domain.backfills.backfill import instants, new_backfill
from timeball.domain.model.ids import BackfillKey, JobKey
from timeball.domain.model.job import JobSpec, Priority
from timeball.domain.model.new_job import new_job
from timeball.domain.model.policies import OverlapPolicy
from timeball.domain.policy.places import placed
from timeball.domain.time.instants import DAY_MS, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every
from timeball.engine.backfills.backfill import create_backfills
from timeball.engine.scheduling.submit import submit

HANGS_MS = 840 * SECOND_MS
FEW = {"high": 9, "normal": 5, "low": 2}
MORE = {"high": 18, "normal": 10, "low": 5}
BEGINS_AT = 10
"""When (s) the hostile tenant strikes. Others have a job each second from then on."""


def contention_of(
    executors: Mapping[str, int] = FEW,
    quotas: Mapping[str, int] | None = None,
    *,
    takes_more: bool = True,
    may_last_seconds: int = 300,
    rule: Rule = placed,
) -> Contention:
    """Return executors, and a tenant whose calls hang for as long as a call may; those of the quiet one may last."""
    calls = Calls({"hostile": HANGS_MS}, {"hostile": HANGS_MS, "quiet": may_last_seconds * SECOND_MS})
    return Contention(executors, calls=calls, quotas=dict(quotas or {}), takes_more=takes_more, rule=rule)


def beside_hanging(contention: Contention, calls: int, seconds: int, apart_seconds: float = 0) -> Contention:
    """Let calls of one tenant hang, in each priority, and another have a run due there each second from 10 s later on.

    The first are so far apart from each other. One by one they come to more executors than at once, ten to each.
    """
    hang_from = [BEGINS_AT + number * apart_seconds for number in range(calls)]
    for priority in contention.executors:
        contention.store_jobs("hostile", hang_from, Priority(priority), f"tarpit-{priority}")
        contention.store_jobs("quiet", range(BEGINS_AT + 10, seconds), Priority(priority), f"job-{priority}")
    contention.play(seconds)
    return contention


def besieged(contention: Contention, size: int, seconds: int) -> Contention:
    """Let one tenant do all at once: `size` tarpits, as many backfills, a tenth as many submissions each second."""
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
    job = new_job(_spec("backfilled", Every(60, now + DAY_MS)), now - DAY_MS, contention.shards)
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


def main() -> int:
    """Print the figures."""
    print("runs of others, each second in each priority: how late the latest began, in s")
    shown = {
        "beside 1,000 calls in each priority that hang for 840 s, 2 minutes": (1_000, 120, {}, True, 300),
        "if executors took nothing more": (1_000, 120, {}, False, 300),
        "for 15 minutes, each run of the others being allowed 30 s": (300, 900, {}, True, 30),
        "for 15 minutes, each being allowed 300 s": (300, 900, {}, True, 300),
        "that, and 20 runs at once for the tenant": (300, 900, {"hostile": 20}, True, 300),
    }
    for name, (calls, seconds, quotas, takes_more, may_last_seconds) in shown.items():
        contention = contention_of(MORE, quotas, takes_more=takes_more, may_last_seconds=may_last_seconds)
        print(f"  {name}: {latest(beside_hanging(contention, calls, seconds)):.1f}", flush=True)
    for at_once in (20, 2):
        bounded = contention_of(MORE, {"hostile": at_once})
        late = latest(beside_hanging(bounded, 300, 900, apart_seconds=2.3))
        print(f"  one call after the other for 15 minutes, and {at_once} runs at once: {late:.1f}", flush=True)
    siege = latest(besieged(contention_of(), 1_000, 120))
    print(f"  beside 1,000 backfills, 3,000 hanging calls, 100 submissions a second: {siege:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
