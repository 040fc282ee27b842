"""An operation takes its share of a scan after all due jobs: it delays no job, and without operations costs nothing."""

from collections import Counter
from dataclasses import replace

from tests.engine.latency import Slow
from tests.engine.operations.operations import operation, standing, store_many
from tests.engine.play import NOW, Play, open_days_only, spec
from timeball.domain.model.ids import JobKey, OperationKey
from timeball.domain.operation import OperationAction
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import Every
from timeball.engine.operations.operation import create_operation
from timeball.engine.scanning.scan import scan
from timeball.ports.due_index import Owner


def _scan(slow: Slow) -> None:
    scan(slow.context(), 0, Owner("2026", "a"), open_days_only(0))


def test_jobs_of_another_tenant_and_of_the_same_one_are_sent_in_time_beside_large_operations() -> None:
    play = Play()
    store_many(play, 3_000)
    jobs = play.store_jobs(
        [spec("own", Every(2, NOW)), replace(spec("own", Every(2, NOW)), key=JobKey("other", "job"))]
    )
    slow = Slow(play)
    for n in range(3):
        one = operation(OperationAction.TRIGGER, NOW - 1, name=f"op{n}", per_second=1_000)
        play.store.operations.insert([one], NOW)
    for second in range(1, 30):
        play.clock.advance(max(0, NOW + second * SECOND_MS - play.clock.now()))
        begun_at = play.clock.now()
        _scan(slow)
        assert play.clock.now() - begun_at < 3 * SECOND_MS
    ours = {job.key for job in jobs}
    late = {run: sent_at - run.fire_at for run, sent_at in slow.sent_at.items() if run.job in ours}
    assert len([run for run in late if run.fire_at > NOW + 6 * SECOND_MS]) >= 20
    assert max(late_ms for run, late_ms in late.items() if run.fire_at > NOW + 6 * SECOND_MS) <= 0
    assert all(standing(play, f"op{n}").done > 30 for n in range(3))


def test_a_scan_without_operations_makes_no_request_for_any() -> None:
    play = Play()
    slow = Slow(play)
    store_many(play, 10)
    create_operation(play.context(), operation(OperationAction.PAUSE, NOW))
    play.clock.advance(2 * SECOND_MS)
    play.scan()
    assert not standing(play).is_running
    before = Counter(slow.requests)
    _scan(slow)
    assert slow.requests - before == Counter({"partitions.take": 1, "due.query": 1})


def test_triggers_of_an_operation_share_one_read_of_the_row_that_has_their_tenants_ceiling() -> None:
    play = Play()
    store_many(play, 50)
    slow = Slow(play)
    triggers = operation(OperationAction.TRIGGER, NOW - 1, name="op", per_second=1_000)
    play.store.operations.insert([triggers], NOW)
    play.clock.advance(SECOND_MS)
    _scan(slow)
    assert standing(play, "op").done >= 5
    assert slow.requests["freezes.read"] == 1


def test_the_operations_of_one_tenant_leave_time_to_those_of_another() -> None:
    play = Play()
    slow = Slow(play)
    store_many(play, 500)
    for n in range(20):
        one = operation(OperationAction.PAUSE, NOW - 1, name=f"op{n}")
        play.store.operations.insert([one], NOW)
    foreign = replace(operation(OperationAction.PAUSE, NOW), key=OperationKey("other", "op1"))
    play.store_jobs([replace(spec("job", Every(60, NOW + 10**8)), key=JobKey("other", "job"))], NOW - 1)
    play.store.operations.insert([foreign], NOW)
    for _ in range(4):
        play.clock.advance(SECOND_MS)
        _scan(slow)
    assert play.store.operations.read([foreign.key])[0].done == 1  # type: ignore[union-attr]
