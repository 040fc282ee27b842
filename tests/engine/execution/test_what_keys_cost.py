"""The cost of limiters' lines: the end of a run costs the same however many runs wait, and delays no other job."""

from collections import Counter
from dataclasses import replace

from tests.engine.latency import Slow
from tests.engine.play import Play, open_days_only, spec
from timeball.domain.model.ids import JobKey, LimiterKey, Origin
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.limiter import Begun, Bounds, Limiter
from timeball.domain.model.runs.run import Permit, Run, RunState, Waiting
from timeball.domain.model.runs.transitions import claimed, ended, lined_up
from timeball.domain.model.runs.values import Guarantor
from timeball.domain.model.terms.flow import ConcurrencyLimit, Flow
from timeball.domain.planning.ledger import queued_run
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.runs.waiting_lines import release_slots
from timeball.engine.scanning.scan import scan
from timeball.ports.due_index import Owner
from timeball.ports.rows import Swap

HOUR_MS = 3600 * SECOND_MS
KEYED = Flow(concurrency=ConcurrencyLimit("db", 1))


def _line(play: Play, key: str, slots: int, waiting: int) -> list[Run]:
    """Store runs of one job: some hold the slots of a limiter, and others wait. Return the holders."""
    now = play.clock.now()
    (job,) = play.store_jobs([replace(spec(f"of-{key}", At(now + HOUR_MS)), flow=KEYED)])
    runs = [queued_run(job, Origin.MANUAL, now - HOUR_MS + n, now) for n in range(slots + waiting)]
    begun = [replace(claimed(run, "executor", now, HOUR_MS), slots=(key,)) for run in runs[:slots]]
    waits = [lined_up(run, Waiting(key, Permit.SLOT), Reason.LIMIT_WAIT, None) for run in runs[slots:]]
    assert play.store.runs.insert([*begun, *waits], now) == [None] * len(runs)
    named = tuple(Begun(run.id, 1, now + HOUR_MS) for run in begun)
    limiter = Limiter(LimiterKey("acme", key), 0, Bounds(slots), begun=named, lines=(Permit.SLOT,), due_at=now)
    assert play.store.limiters.insert([limiter], now) == [None]
    return begun


def _of_an_end(slots: int, waiting: int) -> tuple[Counter[str], Counter[str]]:
    """Return how many requests the end of a run under a limiter makes, and for how many rows, by kind."""
    play = Play()
    holder = _line(play, "db", slots, waiting)[0]
    slow, now = Slow(play), play.clock.now()
    release_slots(slow.context(), [ended(holder, RunState.SUCCEEDED, now, Guarantor.MESSAGE)])
    return slow.requests, slow.items


def test_the_end_of_a_run_costs_the_same_however_many_runs_wait_or_hold_slots() -> None:
    requests, rows = _of_an_end(slots=3, waiting=10)
    assert _of_an_end(slots=3, waiting=1_000) == (requests, rows)
    assert _of_an_end(slots=900, waiting=1_000) == (requests, rows)
    assert requests.total() <= 8
    assert rows["runs.read"] <= 6


def test_the_lines_of_many_limiters_delay_no_job_of_another_tenant() -> None:
    play = Play()
    for n in range(300):
        _line(play, f"key-{n}", 1, 2)
    job = JobKey("globex", "job")
    play.store_jobs([replace(spec("job", At(play.clock.now() + 4 * SECOND_MS)), key=job)])
    slow, due_at = Slow(play), play.clock.now() + 4 * SECOND_MS
    scan(slow.context(), 0, Owner("2026", "a"), open_days_only(0))
    (sent_at,) = [at for run, at in slow.sent_at.items() if run.job == job]
    assert sent_at < due_at


def test_a_repeated_end_does_not_release_the_slot_of_a_later_attempt() -> None:
    play = Play()
    now, (holder,) = play.clock.now(), _line(play, "db", 1, 2)
    before = replace(holder, state=RunState.RETRYING, lease_until=None, attempt=0, revision=6)
    (limiter,) = play.store.limiters.read([LimiterKey("acme", "db")])
    assert limiter is not None
    named = replace(limiter, begun=(replace(limiter.begun[0], revision=6),))
    assert play.store.limiters.swap([Swap(limiter, named)], now)[0].done
    release_slots(play.context(), [before])
    (after,) = play.store.limiters.read([LimiterKey("acme", "db")])
    assert after is not None
    assert [one.run for one in after.begun] == [holder.id]
