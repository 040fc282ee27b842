"""Let events wait for the fires of jobs that have both a pattern and a schedule, and give each fire its event."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from timeball.domain.attempts.claim import ClaimAction, Decision
from timeball.domain.changes.resolve import with_event
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import RunId
from timeball.domain.model.jobs.job import Job, with_spec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.event import WaitingEvent
from timeball.domain.model.terms.policies import Work
from timeball.domain.planning.waiting_events import after_later_events, may_use
from timeball.engine.context import Context
from timeball.ports.rows import Swap

_NO_EVENT = Decision(ClaimAction.END, RunState.SKIPPED, Reason.NO_EVENT)


def take_events(context: Context, starting: Sequence[tuple[Run, Job]], now: int) -> list[Decision | None]:
    """Give each run the newest event before its fire; skip a run without one. Raises UnavailableError.

    Order of writes of take events (for fires that need one):

    1. Read the newest event before the fire, and the run that has taken it, if any.
    2. Swap the event: taken by this run. Then continue the claim.

    Safe: of two fires that take one event, one is refused and decides anew. A claim that is repeated after step 2 finds
    its own event, or a newer one; so no event is used by two fires, and none is lost with its process.
    """
    newest = {run.id: one for run, job in starting if (one := _newest(context, run, job)) is not None}
    users = _read_users(context, newest)
    free = {run: one for run, one in newest.items() if may_use(run, one, users.get(one.used_by))}
    taken = _take(context, free, now)
    return [_decided(job, free.get(run.id), taken.get(run.id), now) for run, job in starting]


@dataclass(frozen=True)
class _TakenEvent:
    """An event that a run has taken, and the work that has it; None: it is no longer stored."""

    digest: str
    event: Work | None


def _newest(context: Context, run: Run, job: Job) -> WaitingEvent | None:
    """Return the newest event that came for a job before a fire of it."""
    names = after_later_events(job, run.id.fire_at)
    found = [] if names is None else context.store.waiting_events.of_owner(job.key, names[1], 1)
    return found[0] if found and names is not None and found[0].key.name.startswith(names[0]) else None


def _read_users(context: Context, newest: Mapping[RunId, WaitingEvent]) -> dict[RunId | None, Run | None]:
    """Return the rows of the runs that have taken events which other runs would take."""
    others = list(dict.fromkeys(one.used_by for run, one in newest.items() if one.used_by not in (None, run)))
    return dict(zip(others, context.store.runs.read(others), strict=True)) if others else {}


def _take(context: Context, free: Mapping[RunId, WaitingEvent], now: int) -> dict[RunId, _TakenEvent]:
    """Let each run take its event; a run is left out if another process has changed the event since it was read."""
    swaps = [Swap(one, evolve(one, used_by=run)) for run, one in free.items()]
    swapped = context.store.waiting_events.swap(swaps, now)
    taken = {run: row for (run, row), one in zip(free.items(), swapped, strict=True) if one.done}
    works = context.store.works.read([(row.key.job, row.digest) for row in taken.values()])
    return {run: _TakenEvent(row.digest, work) for (run, row), work in zip(taken.items(), works, strict=True)}


def _decided(job: Job, free: WaitingEvent | None, taken: _TakenEvent | None, now: int) -> Decision:
    """Decide about a run. It begins without work if its event is gone: its call reports that."""
    if free is None:
        return _NO_EVENT
    if taken is None:
        return Decision(ClaimAction.WAIT, wait_until=now)
    work = job.spec.work
    given = None if work is None or taken.event is None else with_event(work, taken.event)
    return Decision(ClaimAction.CLAIM, event=taken.digest, job=with_spec(job, work=given))
