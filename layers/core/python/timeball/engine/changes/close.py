"""Close the plan that a job had before a user's change: no older plan writes a row any more.

An older plan writes at one fire only: the one that was next when it read the job. The row that stands there refuses it,
so it does not advance the job either.
"""

import logging
from collections.abc import Sequence
from itertools import islice

from timeball.domain.changes.change import fenced_through
from timeball.domain.model.jobs.job import Intent, Job, Verb, with_spec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run
from timeball.domain.model.runs.transitions import closed
from timeball.domain.planning.ledger import closing_row, skipped_around
from timeball.domain.planning.planner import MAX_STEPS
from timeball.domain.time.instants import InvalidSchedule
from timeball.domain.time.schedule import fires, next_fire
from timeball.engine.compare_and_swap import TRIES
from timeball.engine.context import Context
from timeball.engine.metrics import skipped
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap

log = logging.getLogger(__name__)

_CHUNKS = 20
"""How many ranges one call writes, of MAX_STEPS fires each."""


def close(context: Context, job: Job, intent: Intent, now: int) -> int | None:
    """Give the old plan's next fire its row. Return the fire at which the next call continues, if there is more to do.

    Fires that were due before the change was asked for, and are not written yet, are skipped as ranges around the
    standing rows. If there are none, one row is written, even if the new schedule has that fire: its plan revives the
    row.
    """
    old = with_spec(job, schedule=intent.schedule or job.spec.schedule)
    try:
        first_at = None if intent.next_fire_at is None else next_fire(old.spec.schedule, intent.next_fire_at - 1)
    except InvalidSchedule:  # such as a removed time zone: no process can plan it either, and the job must not hang
        log.warning("nothing to close of a schedule that cannot be evaluated", extra={"job_id": job.key.job_id})
        return None
    if first_at is None or first_at > fenced_through(intent, context.rules.lookahead_ms, context.rules.margin_ms):
        return None
    reason = Reason.JOB_CANCELLED if intent.verb is Verb.CANCEL else Reason.SUPERSEDED
    missed = fires(old.spec.schedule, first_at, intent.asked_at - 1)
    closing = closing_row(old, first_at, reason, now)
    if first_at >= intent.asked_at:
        _insert_skipped(context, [closing], now)
    for _ in range(_CHUNKS):
        chunk = list(islice(missed, MAX_STEPS))
        if not chunk:
            break
        _skip_around(context, old, chunk, reason, now)
    _close_superseded(context, closing, now)
    return next(missed, None)


def _skip_around(context: Context, job: Job, fire_times: Sequence[int], reason: Reason, now: int) -> None:
    """Write ranges over fires that no standing row covers. A plan of the old schedule may write at the first."""
    for _ in range(TRIES):
        standing = context.store.runs.between(job.key, fire_times[0], fire_times[-1])
        if _insert_skipped(context, skipped_around(job, fire_times, reason, standing, now), now):
            return
    raise UnavailableError(f"the ledger of job {job.key.job_id} kept changing")


def _insert_skipped(context: Context, rows: Sequence[Run], now: int) -> bool:
    """Insert skipped rows; return whether none of them existed already.

    The process that inserts a row counts it: of two that insert the very same row, one is refused.
    """
    inserted = context.store.runs.insert(rows, now)
    new = [row for row, standing in zip(rows, inserted, strict=True) if standing is None]
    for row in new:
        skipped(context, row, row.count)
    return len(new) == len(rows)


def _close_superseded(context: Context, closing: Run, now: int) -> None:
    """Keep older plans from reviving a superseded run. If one revives it just now, it is aligned like any live run."""
    row = context.store.runs.read([closing.id])[0]
    if row is not None and row.is_superseded and row.decided_at_version < closing.decided_at_version:
        context.store.runs.swap([Swap(row, closed(row, closing))], now)
