"""Jobs that wait for jobs, and the verbs that move them, are stopped anywhere: each runs once, after its parents."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import pytest

from tests.crash.conftest import LATER
from tests.crash.stage import Stage
from tests.engine.dependencies.graphs import node
from tests.engine.play import NOW, PLAIN_RETRY, Play, spec
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.dependency import Parent, ParentEnd
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule
from timeball.engine.changes.change import ChangeOutcome, cancel, pause, resume, revise
from timeball.engine.dependencies.examine import examine
from timeball.engine.dependencies.parents import adopt
from timeball.engine.runs.manual import succeed_runs
from timeball.engine.scheduling.submit import submit
from timeball.ports.errors import ContendedError
from timeball.testing.faults import Points
from timeball.testing.memory_store import MemoryStore

ROOT = evolve(node("a"), schedule=spec("a", At(NOW)).schedule, retry=PLAIN_RETRY)
CHILD, GRANDCHILD = (evolve(node(name, parent), retry=PLAIN_RETRY) for name, parent in ("ba", "cb"))


def key(job_id: str) -> JobKey:
    return JobKey("acme", job_id)


def submit_all(play: Play, *specs: JobSpec) -> None:
    for one in specs:
        (examined,) = examine(play.context(), [one])
        assert not examined.faults
        submit(play.context(), [examined.spec], play.clock.now())


def work_on(play: Play, seconds: int) -> None:
    for _ in range(seconds):
        play.scan_all()
        while play.execute_next():
            pass
        play.clock.advance(SECOND_MS)


def called(play: Play) -> list[str]:
    return [*dict.fromkeys(call.run.job.job_id for _, call in play.caller.calls)]


def expire(play: Play, name: str) -> None:
    """Delete the rows of a job that is over, as a time to live does."""
    assert isinstance(play.store, MemoryStore)
    for run in play.runs(key(name)):
        del play.store.runs[run.id]
    del play.store.jobs[key(name)]


def statuses(play: Play, names: str) -> list[str]:
    return [play.job(key(name)).listed_status.value for name in names]


@dataclass(frozen=True)
class Case:
    """The preparation, the verb that is stopped, the calls in the end, the status of the jobs then; the points."""

    before: Callable[[Play], None]
    verb: Callable[[Play], object]
    calls: list[str]
    status: str
    points: int


def _nothing(play: Play) -> None:
    submit_all(play, ROOT)


def _all_three(play: Play) -> None:
    submit_all(play, ROOT, CHILD, GRANDCHILD)


def _the_first_ran(play: Play) -> None:
    _all_three(play)
    while play.execute_next():
        pass


def _the_first_died(play: Play) -> None:
    play.caller.statuses = [400]
    _the_first_ran(play)


def _the_first_died_and_all_know(play: Play) -> None:
    _the_first_died(play)
    work_on(play, 5)
    assert statuses(play, "abc") == ["failed", "blocked", "blocked"]


def _all_know_and_the_first_is_pardoned(play: Play) -> None:
    _the_first_died_and_all_know(play)
    _pardon(play)


def _pardon(play: Play) -> None:
    succeed_runs(play.context(), [play.runs(key("a"))[0].id], "by hand")


CASES = {
    # The edge, the parent, the job, its first evaluation.
    "a submit": Case(_nothing, lambda play: submit_all(play, CHILD, GRANDCHILD), ["a", "b", "c"], "completed", 12),
    "the end of a parent": Case(_all_three, Play.execute_next, ["a", "b", "c"], "completed", 4),
    # The child is notified, the parent marked, the child let go, inserted, sent, advanced.
    "a scan that tells of a success": Case(_the_first_ran, Play.scan_all, ["a", "b", "c"], "completed", 12),
    "a scan that tells of a death": Case(_the_first_died, Play.scan_all, ["a"], "blocked", 8),
    "a run that is marked as succeeded": Case(
        _the_first_died_and_all_know, _pardon, ["a", "b", "c"], "completed", 4
    ),
    "a scan that tells that all goes on": Case(
        _all_know_and_the_first_is_pardoned,
        Play.scan_all,
        ["a", "b", "c"],
        "completed",
        12,
    ),
}  # fmt: skip


@pytest.mark.on_moto("a submit", "a scan that tells that all goes on")
@pytest.mark.parametrize("case", CASES)
def test_scans_finish_every_stopped_verb_and_each_job_runs_once_after_its_parents(stage: Stage, case: str) -> None:
    chosen = CASES[case]
    play = stage.play(NOW)
    chosen.before(play)
    for left in stage.crashes(play, chosen.verb, chosen.points):
        if case == "a submit":  # the client got no answer and repeats its request
            submit_all(left, CHILD, GRANDCHILD)
        if case == "a run that is marked as succeeded":
            _pardon(left)
        left.clock.advance(stage.later_ms)
        work_on(left, 12)
        if case == "the end of a parent":  # the message of an executor that died comes again
            left.clock.advance(16 * 60 * SECOND_MS)
            work_on(left, 12)
        assert called(left) == chosen.calls
        assert statuses(left, "bc") == [chosen.status] * 2
        assert [left.job(key(name)).must_notify_children for name in "abc"] == [False] * 3
        if chosen.status == "blocked":
            _pardon(left)
            work_on(left, 10)
            assert (called(left), statuses(left, "abc")) == (["a", "b", "c"], ["completed"] * 3)


@pytest.mark.parametrize("place", ["memory", LATER], indirect=True)
@pytest.mark.parametrize("is_paused", [False, True])
def test_a_child_keeps_how_an_expired_parent_ended_wherever_the_notifying_scan_was_stopped(
    stage: Stage, *, is_paused: bool
) -> None:
    play = stage.play(NOW)
    later = evolve(node("x"), schedule=spec("x", At(NOW + 3_600_000)).schedule)
    submit_all(play, ROOT, later, evolve(node("c", "a x"), retry=PLAIN_RETRY))
    if is_paused:
        pause(play.context(), [(key("c"), None)])
    play.execute_next()
    for left in stage.crashes(play, Play.scan_all, 4):
        left.clock.advance(stage.later_ms)
        work_on(left, 40)
        expire(left, "a")
        if is_paused:
            resume(left.context(), [(key("c"), None)])
        left.clock.advance(3_600_000)
        work_on(left, 12)
        assert (called(left), statuses(left, "xc")) == (["a", "x", "c"], ["completed"] * 2)


def test_a_child_that_gets_another_parent_runs_wherever_the_scan_was_that_skipped_it_early(
    stage: Stage,
) -> None:
    for at in count(step=stage.step):
        play = stage.play(NOW)
        later, child = (
            evolve(node(name, parents), schedule=spec(name, At(NOW + 600_000)).schedule, inherits=False)
            for name, parents in (("x", ""), ("c", "x"))
        )
        submit_all(play, ROOT, later, child)
        cancel(play.context(), [(key("x"), None)])
        play.execute_next()
        play.scan()
        assert play.job(key("c")).waits
        done: list[bool] = []

        def meanwhile(play: Play = play, done: list[bool] = done) -> None:
            done.append(_rewire(play, "c", "a"))

        points = Points(at, meanwhile)
        play.scan(points)
        if points.reached <= at:
            break
        play.clock.advance(600_000)
        work_on(play, 12)
        assert statuses(play, "c") == ["completed" if done == [True] else "skipped"], at
    assert at > 6


def _rewire(play: Play, child: str, parent: str, points: Points | None = None) -> bool:
    """Change `dependsOn` as a PATCH does; return whether it succeeded."""
    context = play.context(points)
    (job,) = context.store.jobs.read([key(child)], with_work=True)
    assert job is not None
    adopted = adopt(context, job, evolve(job.spec, depends_on=(Parent(parent),)))
    return not adopted.faults and revise(context, [(job, adopted.spec)])[0].outcome is ChangeOutcome.DONE


@pytest.mark.parametrize("others", [[("y", "x")], [("y", "z"), ("z", "x")]], ids=["of two", "of three"])
def test_changes_that_would_close_a_cycle_together_never_all_succeed_wherever_they_meet(
    stage: Stage, others: list[tuple[str, str]]
) -> None:
    for at in count(step=stage.step):
        play = stage.play(NOW)
        later = [evolve(node(name), schedule=spec(name, At(NOW + 600_000)).schedule) for name in "xyz"]
        submit_all(play, *later)
        done: list[bool] = []

        def meanwhile(play: Play = play, done: list[bool] = done) -> None:
            done.extend(_rewire(play, *edge) for edge in others)

        points = Points(at, meanwhile)
        try:
            first = _rewire(play, "x", "y", points)
        except ContendedError:
            first = False
        if points.reached <= at:
            break
        assert not (first and all(done)), at
        assert sum([first, *done]) >= len(others) - 1, at
    assert at > 10


def test_a_stopped_change_of_parents_blocks_others_for_at_most_a_minute(stage: Stage) -> None:
    play = stage.play(NOW)
    later = [evolve(node(name), schedule=spec(name, At(NOW + 600_000)).schedule) for name in "xy"]
    submit_all(play, *later)
    for left in stage.crashes(play, lambda play: _rewire(play, "x", "y"), 8):
        is_done = left.job(key("x")).spec.depends_on != ()
        left.clock.advance(61 * SECOND_MS)
        assert _rewire(left, "y", "x") is not is_done


OFTEN = Schedule(Every(5, NOW + 8_000), end_at=NOW + 8_000)
"""One fire, of a recurring job."""


def _planned(play: Play) -> None:
    submit_all(play, evolve(ROOT, schedule=OFTEN), CHILD, GRANDCHILD)
    play.clock.advance(4_000)


def _sent(play: Play) -> None:
    _planned(play)
    play.scan_all()


def _ran(play: Play) -> None:
    _sent(play)
    play.clock.advance(4_000)
    play.execute_next()


def _wait_and_execute(play: Play) -> None:
    play.clock.advance(4_000)
    play.execute_next()


def _assert_each_is_called_once(left: Play, stage: Stage) -> None:
    left.clock.advance(stage.later_ms)
    work_on(left, 15)
    left.clock.advance(16 * 60 * SECOND_MS)  # the message of an executor that died comes again
    work_on(left, 15)
    assert called(left) == ["a", "b", "c"]


# Each case: the preparation, the verb that is stopped, and its points.
CYCLES: dict[str, tuple[Callable[[Play], None], Callable[[Play], object], int]] = {
    "the scan that plans a cycle": (_planned, Play.scan_all, 12),
    "the end of a parent": (_sent, _wait_and_execute, 6),
    "the scan that tells, and lets go": (_ran, Play.scan_all, 10),
}


@pytest.mark.on_moto("the scan that tells, and lets go")
@pytest.mark.parametrize("case", CYCLES)
def test_a_cycle_stopped_anywhere_runs_each_of_its_jobs_once_in_order(stage: Stage, case: str) -> None:
    before, verb, points = CYCLES[case]
    play = stage.play(NOW)
    before(play)
    for left in stage.crashes(play, verb, points):
        _assert_each_is_called_once(left, stage)
        for name in "abc":
            (run,) = left.runs(key(name))
            assert (run.id.fire_at, run.state, run.due_at) == (NOW + 8_000, RunState.SUCCEEDED, None)


EARLIER = Schedule(Every(5, NOW + 6_000), end_at=NOW + 6_000)
"""One fire, two seconds before that of the parent."""


def _waiting_for_a_latest_cycle(play: Play) -> None:
    latest = evolve(CHILD, depends_on=(Parent("a", on=ParentEnd.LATEST),), inherits=False, schedule=EARLIER)
    submit_all(play, evolve(ROOT, schedule=OFTEN), latest, GRANDCHILD)
    for _ in range(8):
        play.scan_all()
        play.clock.advance(SECOND_MS)
    (waiting,) = play.runs(key("b"))
    assert (waiting.waits, waiting.state) == (True, RunState.QUEUED)


def _latest_cycle_ended(play: Play) -> None:
    _waiting_for_a_latest_cycle(play)
    play.execute_next()
    assert play.runs(key("a"))[0].state is RunState.SUCCEEDED


# As the cases of cycles: the parent's first cycle ends while the child waits for it.
LATEST: dict[str, tuple[Callable[[Play], None], Callable[[Play], object], int]] = {
    "the end of a parent": (_waiting_for_a_latest_cycle, Play.execute_next, 4),
    "the scan that tells, and lets go": (_latest_cycle_ended, Play.scan_all, 8),
}


@pytest.mark.on_moto("the scan that tells, and lets go")
@pytest.mark.parametrize("case", LATEST)
def test_a_run_that_waits_for_a_latest_cycle_runs_once_wherever_that_end_was_stopped(stage: Stage, case: str) -> None:
    before, verb, points = LATEST[case]
    play = stage.play(NOW)
    before(play)
    for left in stage.crashes(play, verb, points):
        _assert_each_is_called_once(left, stage)
        runs = [left.runs(key(name))[0] for name in "abc"]
        assert {(run.state, run.due_at) for run in runs} == {(RunState.SUCCEEDED, None)}
        assert [run.id.fire_at - NOW for run in runs] == [8_000, 6_000, 6_000]


def test_a_first_latest_cycle_that_ends_during_an_evaluation_lets_the_run_go_within_seconds(stage: Stage) -> None:
    for at in count(step=stage.step):
        play = stage.play(NOW)
        _latest_cycle_ended(play)
        done: list[bool] = []

        def meanwhile(play: Play = play, done: list[bool] = done) -> None:
            play.scan_all()
            done.append(True)

        points = Points(at, meanwhile)
        play.scan(points)
        if points.reached <= at:
            break
        work_on(play, 8)
        assert called(play) == ["a", "b", "c"], at
    assert at > 6
