"""A loss of rows, messages and watches: rows are gone, or as they were at an earlier instant, in any mixture.

The history forgets what the loss undoes, as if it had never been written. So the promises about single writes hold for
what is left. Calls that have left are remembered apart, because targets do not forget them.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.simulation.story import Story
from tests.simulation.world.history import Write
from tests.simulation.world.receiver import Arrival
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Guarantee, Job
from timeball.domain.model.runs.run import Run


@dataclass(frozen=True)
class Kept:
    """All rows as they were at an instant (true time, ms)."""

    at: int
    jobs: dict[JobKey, Job]
    runs: dict[RunId, Run]


@dataclass
class Loss:
    """What was lost at an instant (true time, ms), and what the world knew before."""

    at: int
    since: int
    lost_rows: bool = False
    arrivals: list[Arrival] = field(default_factory=list)
    """The calls that had left by then."""
    by_hand: set[tuple[RunId, int]] = field(default_factory=set)
    """The manual retries that were written by then: the runs, and when each was asked for."""
    often: set[JobKey] = field(default_factory=set)
    """The jobs whose runs might be called twice, at some time before."""
    forgotten: set[tuple[RunId, int]] = field(default_factory=set)
    """The attempts whose claims are forgotten."""
    over: set[RunId] = field(default_factory=set)
    """The runs whose rows said after it that they were over."""
    asked: list[tuple[int, set[RunId]]] = field(default_factory=list)
    """When each recovery was stored, and the runs that were over then."""
    ended: list[int] = field(default_factory=list)
    """When each recovery was through."""


def kept(story: Story) -> Kept:
    """Return all rows as they are."""
    return Kept(story.clock.now(), dict(story.store.jobs), dict(story.store.runs))


def lose(story: Story, standing: Kept, draw: Random) -> Loss:
    """Lose rows that were written since an instant, or make them as they were then; or lose messages and watches.

    Jobs that were created since are kept. If rows are lost, so are all messages and watches.
    """
    store, history = story.store, story.store.history
    loss = Loss(story.clock.now(), standing.at, arrivals=[*story.receiver.arrivals])
    loss.by_hand = {(one.after.id, one.after.budget_at) for one in history.runs if one.after.budget_at is not None}
    loss.often = {one.after.key for one in history.jobs if one.after.spec.delivery is Guarantee.AT_LEAST_ONCE}
    gone, old, jobs = draw.choice((0, 0.2, 0.6, 1)), draw.choice((0, 0.2, 0.6, 1)), draw.choice((0, 0.3, 1))
    for run in sorted(store.runs):
        before = standing.runs.get(run)
        is_kept = before is None and run.origin is Origin.BACKFILL  # docs/how-to/restore.md says what becomes of it
        if store.runs[run] is not before and draw.random() < (gone if before is None else old) and not is_kept:
            loss.lost_rows = True
            _forget_run(story, loss, run, before)
    for key in sorted(standing.jobs):
        if store.jobs[key] is not standing.jobs[key] and draw.random() < jobs:
            loss.lost_rows = True
            _forget_job(story, key, standing.jobs[key])
    if loss.lost_rows or draw.random() < 0.7:
        story.queue.purge()
        story.queue.dead.clear()
    if loss.lost_rows or draw.random() < 0.7:
        story.queue.watches.clear()
    loss.over = over(story)
    history.scans.clear()
    return loss


def over(story: Story) -> set[RunId]:
    """Return the runs that are over. A superseded run is not, because a plan may revive it."""
    return {run.id for run in story.store.runs.values() if run.is_terminal and not run.is_superseded}


def _forget_run(story: Story, loss: Loss, run: RunId, before: Run | None) -> None:
    store, memory = story.store, story.store.past
    shard = store.runs[run].shard
    writes = store.history.forget_run(run, before)
    loss.forgotten |= {(run, one.after.attempt) for one in writes}
    attempts = {one.after.attempt for one in writes} - {0 if before is None else before.attempt}
    receiver = story.receiver
    receiver.arrivals = [one for one in receiver.arrivals if one.run != run or one.attempt not in attempts]
    story.queue.deletions = [one for one in story.queue.deletions if one.run != run]
    story.trace(f"{run} is {'gone' if before is None else 'old'}")
    if before is None:
        del store.runs[run]
        memory.live.pop(run, None)
        memory.lines.pop(run, None)
        memory.index(run, None, shard, story.clock.now())
    else:
        _write_anew(story, store.runs, run, before, store.history.of_run(run), store.history.runs)


def _forget_job(story: Story, key: JobKey, before: Job) -> None:
    story.trace(f"{key} is old")
    story.store.history.forget_job(key, before)
    story.queue.deletions = [one for one in story.queue.deletions if one.run.job != key]
    _write_anew(story, story.store.jobs, key, before, story.store.history.of_job(key), story.store.history.jobs)
    story.store.past.moves.pop(key, None)  # the index of a restored table shows what its rows say


def _write_anew(
    story: Story, rows: Any, key: Any, before: Any, writes: list[Write[Any]], all_of: list[Write[Any]]
) -> None:
    """Write a row as it was, under a new revision: no process has read it so."""
    after = evolve(before, revision=rows[key].revision + 1)
    rows.write(key, after, story.clock.now())
    writes[-1] = all_of[-1] = Write(story.clock.now(), "the loss", before, after)
