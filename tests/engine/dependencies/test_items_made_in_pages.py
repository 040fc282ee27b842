"""One tenant's items do not delay other tenants' jobs, and a quota of created runs bounds them, too."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.engine.dependencies.graphs import BEGIN, Graph, key, node
from tests.engine.dependencies.test_fan_out import each, handed, head, naming
from tests.engine.latency import Slow
from tests.engine.play import Play, open_days_only, spec
from timeball.domain.dependencies.fan_out import NamedItems
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.freeze import Freezes
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import FanOut
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.planning.ledger import queued_run
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.context import Rules
from timeball.engine.runs.fan_out import save_named
from timeball.engine.scanning.scan import scan
from timeball.engine.scheduling.submit import submit
from timeball.ports.due_index import Owner

ITEMS = 250


def _head(play: Play, number: int, now: int) -> Run:
    """Return a run that has items and releases them next."""
    job = play.job(JobKey("noisy", f"each-{number}"))
    run = replace(queued_run(job, Origin.SCHEDULE, BEGIN, now), state=RunState.RUNNING, due_at=now)
    digest = save_named(play.context(), run.id, NamedItems(tuple(f"{one}" for one in range(ITEMS))), now)
    of = RunId(JobKey("noisy", "a"), BEGIN, Origin.SCHEDULE)
    return evolve(run, fan=FanOut(of, items=digest, count=ITEMS))


def _dead_head(play: Play, number: int, now: int) -> Run:
    """Return a run that failed with its items, and is read again because one of these has ended since."""
    return evolve(_head(play, number, now), state=RunState.FAILED)


@pytest.mark.parametrize("made", [_head, _dead_head])
@pytest.mark.parametrize(("heads", "shards"), [(900, 4), (3_600, 16)])
def test_another_tenants_job_is_sent_in_time_however_many_heads_are_due(
    made: Callable[[Play, int, int], Run], heads: int, shards: int
) -> None:
    play = Play(at=BEGIN - 60 * SECOND_MS, rules=Rules(shards=shards))
    far = At(BEGIN + 3_600 * SECOND_MS)
    names = [f"each-{number}" for number in range(heads)]
    submit(play.context(), [replace(spec(name, far), key=JobKey("noisy", name)) for name in names], play.clock.now())
    play.clock.advance(60 * SECOND_MS)
    now = play.clock.now()
    play.store.runs.insert([made(play, number, now) for number in range(heads)], now)
    submit(play.context(), [replace(spec("own", At(now + 6 * SECOND_MS)), key=JobKey("quiet", "own"))], now)
    play.clock.advance(2 * SECOND_MS)
    begun_at, slow = play.clock.now(), Slow(play)
    scan(slow.context(), 0, Owner("2026", "a"), open_days_only(*range(shards)))
    sent = [at for run, at in slow.sent_at.items() if run.job.tenant == "quiet"]
    assert len(sent) == 1
    assert sent[0] - begun_at <= 2 * SECOND_MS


def test_a_quota_spreads_the_creation_of_items_over_later_minutes_and_each_item_runs_once() -> None:
    with Graph(node("a"), each("b", "a")) as graph:
        graph.play.store.freezes.insert([Freezes("acme", quotas=Quotas(runs_created_per_minute=8))], BEGIN)
        graph.bodies = {"a": naming(*range(20))}
        graph.until(300)
        made = Counter(run.created_at // MINUTE_MS for run in graph.play.runs(key("b")) if run.id.series)
        assert max(made.values()) == 8
        assert sorted(handed(graph).values()) == list(range(20))  # type: ignore[type-var]
        assert graph.statuses() == {"a": "completed", "b": "completed"}


def test_a_head_that_waits_for_its_quota_is_left_alone_until_its_minute_begins() -> None:
    minute_at = BEGIN - BEGIN % MINUTE_MS + MINUTE_MS
    minute = (minute_at - BEGIN) // SECOND_MS
    with Graph(node("a"), each("b", "a")) as graph:
        graph.play.store.freezes.insert([Freezes("acme", quotas=Quotas(runs_created_per_minute=8))], BEGIN)
        graph.bodies = {"a": naming(*range(20))}
        graph.until(minute - 20)
        waiting = head(graph)
        graph.until(minute - 1)
        assert head(graph) == waiting
        graph.until(minute + 1)
        made_at = [run.created_at for run in graph.play.runs(key("b")) if run.id.series]
        assert min(at for at in made_at if at > BEGIN + (minute - 20) * SECOND_MS) == minute_at
