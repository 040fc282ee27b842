"""Each matching job is processed once, whatever the listing, the store and the job's user do meanwhile."""

from collections.abc import Callable

import pytest

from tests.engine.operations.operations import (
    CANCEL,
    PAUSE,
    RESUME,
    operation,
    repeat,
    scan_to_its_end,
    standing,
    statuses,
    store_many,
    through,
)
from tests.engine.play import NOW, Play, spec
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.operation import Failure, JobFault, JobMatch, OperationAction, OperationStatus
from timeball.domain.time.instants import DAY_MS, SECOND_MS
from timeball.domain.time.schedule import Every
from timeball.engine.changes.change import pause, resume
from timeball.engine.operations.operation import advance_operations, create_operation
from timeball.ports.errors import UnavailableError
from timeball.testing.faults import with_outages

# For each operation: what a user does to a job afterwards, to undo it.
UNDOING: dict[OperationAction, Callable[[Play, JobKey], object]] = {
    PAUSE: lambda play, key: resume(play.context(), [(key, None)]),
    RESUME: lambda play, key: pause(play.context(), [(key, None)]),
}


@pytest.mark.parametrize("action", UNDOING)
@pytest.mark.parametrize("times", [1, 15])
def test_a_users_change_of_a_job_after_the_operation_processed_it_stays(action: OperationAction, times: int) -> None:
    play = Play()
    jobs = store_many(play, 3)
    if action is RESUME:
        pause(play.context(), [(job.key, None) for job in jobs])
    play.store.operations.insert([operation(action, NOW)], NOW)
    advance_operations(play.context(), [standing(play)], NOW)
    begun = standing(play)
    assert len(begun.batch) == 3
    advance_operations(play.context(), [begun], NOW + 1)
    for _ in range(times):
        play.clock.advance(SECOND_MS)
        UNDOING[PAUSE if play.job(jobs[0].key).status is JobStatus.PAUSED else RESUME](play, jobs[0].key)
    left_as = play.job(jobs[0].key)
    repeat(play, begun)
    assert play.job(jobs[0].key) == left_as
    assert standing(play).done == 3


@pytest.mark.parametrize(("count", "missed"), [(5, 2), (5, 4), (1, 0)])
def test_a_job_that_moves_between_two_statuses_while_the_listing_is_read_is_found(
    monkeypatch: pytest.MonkeyPatch, count: int, missed: int
) -> None:
    play = Play()
    jobs = store_many(play, count)
    listed = play.store.jobs.listed

    def moving(*asked: object) -> object:
        patch.undo()
        return [one for one in listed(*asked) if one[1] != jobs[missed].key]  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(play.store.jobs, "listed", moving)
        create_operation(play.context(), operation(CANCEL, NOW))
    over = scan_to_its_end(play)
    assert statuses(play, jobs) == [JobStatus.CANCELLED] * count
    assert (over.matched, over.done) == (count, count)


def test_a_job_that_the_listing_does_not_show_yet_is_found() -> None:
    play = Play()
    store_many(play, 3)
    create_operation(play.context(), operation(PAUSE, NOW))
    play.store_jobs([spec("just-created", Every(60, NOW + DAY_MS))], NOW)
    assert scan_to_its_end(play).matched == 4


def test_a_job_that_cannot_be_changed_now_is_tried_again_and_then_left() -> None:
    play = Play()
    jobs = store_many(play, 3)
    store = play.store
    play.store = with_outages(store, lambda name, item: name == "jobs.swap" and "job-00001" in repr(item))
    create_operation(play.context(), operation(PAUSE, NOW))
    assert standing(play).done == 1
    over = scan_to_its_end(play)
    assert (over.done, over.failures) == (2, (Failure("job-00001", JobFault.UNAVAILABLE),))
    assert statuses(play, jobs) == [JobStatus.PAUSED, JobStatus.PENDING, JobStatus.PAUSED]
    assert play.clock.now() - NOW > 4 * 60 * SECOND_MS


def test_every_job_is_processed_after_a_short_outage() -> None:
    play = Play()
    jobs = store_many(play, 3)
    store = play.store
    play.store = with_outages(store, lambda name, _: name == "jobs.swap")
    create_operation(play.context(), operation(PAUSE, NOW))
    play.store = store
    over = scan_to_its_end(play)
    assert (over.status, over.done) == (OperationStatus.SUCCEEDED, 3)
    assert statuses(play, jobs) == [JobStatus.PAUSED] * 3


def test_an_operation_is_stored_although_no_job_can_be_changed_now(monkeypatch: pytest.MonkeyPatch) -> None:
    play = Play()
    jobs = store_many(play, 3)

    def unavailable(*_: object) -> None:
        raise UnavailableError("not now")

    with monkeypatch.context() as patch:
        patch.setattr(play.store.jobs, "listed", unavailable)
        assert create_operation(play.context(), operation(PAUSE, NOW)) is None
    assert scan_to_its_end(play).done == 3
    assert statuses(play, jobs) == [JobStatus.PAUSED] * 3


def test_a_status_that_the_operation_itself_changes_hides_no_job_from_it() -> None:
    play = Play()
    jobs = store_many(play, 350)
    over = through(play, operation(PAUSE, NOW, JobMatch(status="pending")))
    assert (over.matched, over.done) == (350, 350)
    assert statuses(play, jobs) == [JobStatus.PAUSED] * 350
