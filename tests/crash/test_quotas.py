"""Under quotas, a create and a run are stopped anywhere: the quota holds, and nothing is used up for good."""

from functools import partial
from itertools import pairwise

import pytest

from tests.crash.stage import Stage
from tests.engine.play import NOW, Play, spec
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job_states import Among
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.sharing.submit_budget import Reservation
from timeball.domain.time.instants import DAY_MS, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.blackouts.freezes import note_quotas
from timeball.engine.quotas import reserve
from timeball.engine.scheduling.submit import submit

MOST = 2


def _create(play: Play, name: str) -> bool:
    """Create a job of a tenant that may have two; return False if that is one too many."""
    now = play.clock.now()
    if reserve(play.context(), Reservation("acme", 1, now, per_second=9, active=MOST)) is not None:
        return False
    submit(play.context(), [spec(name, At(NOW + DAY_MS))], now)
    return True


def _open(play: Play) -> int:
    return play.store.jobs.count("acme").parts[Among.OPEN].count


@pytest.mark.parametrize("standing", range(MOST))
def test_a_create_stopped_anywhere_leaves_all_its_room_to_later_ones(stage: Stage, standing: int) -> None:
    play = stage.play(NOW)
    assert all(_create(play, f"standing-{n}") for n in range(standing))
    for left in stage.crashes(play, partial(_create, name="job"), 4):
        for n in range(MOST + 1):
            left.clock.advance(5 * SECOND_MS)
            has_room = _open(left) < MOST
            assert _create(left, f"later-{n}") is has_room
        assert _open(left) == MOST


@pytest.mark.parametrize("quotas", [Quotas(runs_at_once=1), Quotas(runs_per_second=1)])
def test_runs_whose_executor_was_stopped_anywhere_all_end_within_the_quota(stage: Stage, quotas: Quotas) -> None:
    play = stage.play(NOW)
    note_quotas(play.context(), "acme", quotas)
    jobs = play.store_jobs([spec(name, At(NOW)) for name in ("a", "b")])
    play.scan_all()
    deliveries = play.queue.receive("normal")
    assert len(deliveries) == 2
    play.caller.takes_ms = 2_000
    for left in stage.crashes(play, partial(Play.execute, deliveries=deliveries), 10):
        left.clock.advance(stage.later_ms)
        for job in jobs:
            left.run_on(job.key)
        for name in ("a", "b"):
            (run,) = left.runs(JobKey("acme", name))
            assert run.state is RunState.SUCCEEDED
        begun = sorted(called_at for called_at, _ in left.caller.calls)
        apart = [later - earlier for earlier, later in pairwise(begun)]
        assert all(ms >= (2_000 if quotas.runs_at_once else 1) for ms in apart)
        assert left.clock.now() < NOW + 30 * MINUTE_MS + stage.later_ms
