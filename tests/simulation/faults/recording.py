"""Faults of records: part of a user's change is not recorded, or only after it; the end of a run is recorded twice."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.simulation.faults.hands import Apply, Fault, believed, handed, instead, swapped, through
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.revision import Announcement, Revision
from timeball.domain.model.runs.run import Run
from timeball.engine.context import Context
from timeball.engine.metrics import moved
from timeball.engine.runs.effects import change_runs
from timeball.ports.rows import Swap, Swapped

_FOUND_BY = "each change has an actor and a revision"


def _without(kind: type[Any]) -> Apply:
    return handed(lambda context: _noting(context, kind, []))


def _afterwards(kind: type[Any]) -> Apply:
    """Write a note only after the next write of a job, if the process lives that long."""

    def hand(context: Context) -> Context:
        waiting: list[Any] = []

        def swap(swaps: Sequence[Swap[Job]], now: int) -> list[Swapped[Job]]:
            answers = context.store.jobs.swap(swaps, now)
            missing = [*waiting]
            waiting.clear()
            if missing:
                context.store.changes.note(missing, now)
            return answers

        return through(_noting(context, kind, waiting), "jobs.swap", swap)

    return handed(hand)


def _noting(context: Context, kind: type[Any], others: list[Any]) -> Context:
    """Return a context that writes all notes except those of a kind, which it adds to `others`."""

    def note(notes: Sequence[Revision | Announcement], now: int) -> None:
        others.extend(one for one in notes if isinstance(one, kind))
        context.store.changes.note([one for one in notes if not isinstance(one, kind)], now)

    return through(context, "changes.note", note)


def _reports_refused_items(
    context: Context, jobs: Mapping[RunId, Job | None], swaps: Sequence[Swap[Run]], now: int
) -> list[Swapped[Run]]:
    answers = change_runs(context, jobs, swaps, now)
    moved(context, swaps, [Swapped(not one.done, one.row) for one in answers])
    return answers


def _by_content(context: Context) -> Context:
    """Return a context that takes a row for its own write if the contents are equal."""

    def swap(swaps: Sequence[Swap[Run]], now: int) -> list[Swapped[Run]]:
        answers = context.store.runs.swap(swaps, now)
        return [Swapped(one.done or one.row == swap.written, one.row) for swap, one in zip(swaps, answers, strict=True)]

    return through(context, "runs.swap", swap)


def _drops_earlier_cost(swap: Swap[Run]) -> Run:
    return evolve(swap.after, spent=swap.after.spent.beyond(swap.before.spent))


FAULTS = {
    "a run's row has only the cost of its newest attempt": Fault(
        swapped("runs.swap", _drops_earlier_cost),
        "the cost of a run only grows",
        meeting="an operation that takes long, while a run that it retries fails again",
    ),
    "the loser of a race counts the run's end too": Fault(
        instead(change_runs, _reports_refused_items), "no run is counted twice", meeting="an execution, and a cancel"
    ),
    "a swap takes a row of the same content for its own": Fault(handed(_by_content), "no run is counted twice", 5),
    "an insert takes a row of the same content for its own": Fault(
        believed("runs.insert", lambda row, standing: row == standing), "no run is counted twice", 4
    ),
    "a change keeps no older revision": Fault(
        _without(Revision),
        _FOUND_BY,
        meeting="the failure of a parent of two jobs that have swapped which one waits for the other",
    ),
    "a change is not announced": Fault(
        _without(Announcement),
        _FOUND_BY,
        meeting="the failure of a parent of two jobs that have swapped which one waits for the other",
    ),
    "the older revision is kept after the change": Fault(_afterwards(Revision), _FOUND_BY, 1),
    "a change is announced after it": Fault(_afterwards(Announcement), _FOUND_BY, scene="bulk operations"),
}
