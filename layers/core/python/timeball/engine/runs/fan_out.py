"""Fan out: release the runs of items in batches, and wait until all have ended.

A run with items, the *head*, is never called: it is under way while its items are. ① Fix its list, in one write. ②
Insert and send items, page by page, and record on the head how far that is. ③ The ends of items make the head due, and
then it is checked. Each step works from the rows alone, so any process may repeat it: an item's number names its run.
"""

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from itertools import takewhile

from timeball.domain.dependencies import fan_out
from timeball.domain.dependencies.fan_out import NamedItems
from timeball.domain.dependencies.trigger_rule import kept_of
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import RunId
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import due_again, ended, withdrawn
from timeball.domain.model.runs.values import FanOut, Guarantor
from timeball.domain.model.terms.dependency import State
from timeball.domain.model.terms.policies import Work
from timeball.domain.sharing.fairness import most_made, page_of
from timeball.engine.blackouts.read import read_quotas, within_ceilings
from timeball.engine.compare_and_swap import change_all, compare_and_swap
from timeball.engine.context import Context
from timeball.engine.resolving import read_jobs_of
from timeball.engine.runs.attempts import answer_of
from timeball.engine.runs.effects import change_runs
from timeball.engine.runs.send import room_at, send
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap

_PAGE = 250
"""Items that are released together, and read together."""
STEPS_MS = 1_000
"""How long a scan begins steps, one after the other: it comes to the jobs in time, however many heads are due."""


def work_through(context: Context, heads: Sequence[Run], stop_at: int) -> tuple[int, list[Run]]:
    """Take the next step with each head; return how many were taken, and the dead heads that stay dead.

    No step is begun from `stop_at` (ms) on: a step may be two hundred and fifty runs, and others wait. The rest stays
    due. Raises UnavailableError.

    Order of writes of fan out (a run with items):

    1. Store the list of all items; swap the head: it names that list.
    2. Take a page of items, as large as the tenant's quota allows; without room, swap the head: due in the next minute;
       otherwise store their payloads, insert their runs, send them; swap the head: released so far.
    3. The ends of items make the head due: swap it past the items that are over, and at last to its end.

    Safe: an item's number names its run, so a repeat ends in the same rows.
    """
    taken, dead = 0, list[Run]()
    if not heads or context.clock.now() >= stop_at:
        return taken, dead
    for head, job in zip(heads, read_jobs_of(context, heads), strict=True):
        if context.clock.now() >= stop_at:
            break
        if not head.is_terminal:
            taken += _step(context, head, job)
        elif not _is_healed(context, head, job):
            dead.append(head)
    return taken, dead


def _is_healed(context: Context, head: Run, job: Job | None) -> bool:
    """Let a dead head have succeeded if all its items have by now; say whether they have."""
    now = context.clock.now()
    after = fan_out.healed(head, [] if head.fan is None else _items(context, head, 1, head.fan.count), now)
    if after is not None:
        change_runs(context, {head.id: job}, [Swap(head, after)], now)
    return after is not None


def wake_heads(context: Context, items: Sequence[Run]) -> None:
    """Make the heads of ended items due. Raises UnavailableError."""
    heads = list(dict.fromkeys(head for item in items if (head := fan_out.head_of(item.id)) is not None))
    if not heads:
        return
    now = context.clock.now()
    subject = "a run that waits for its items"
    change_all(context.store.runs.swap, context.store.runs.read(heads), partial(_woken, now), now, subject)


def named_by(context: Context, run: Run) -> NamedItems:
    """Return the items that the newest attempt of a run has named while it works. Raises UnavailableError."""
    return NamedItems() if run.named is None else read_named(context, run.id, run.named)


def read_named(context: Context, run: RunId, digest: str) -> NamedItems:
    """Read a list that is stored beside the job of a run. Raises UnavailableError, also if it is gone."""
    (work,) = context.store.works.read([(run.job, digest)])
    if work is None:
        raise UnavailableError(f"the items of run {run} are not kept any more")
    return fan_out.to_named(work.payload)


def save_named(context: Context, run: RunId, named: NamedItems, now: int) -> str:
    """Store a list beside the job of a run; return its name. Raises UnavailableError."""
    return context.store.works.save([(run.job, Work(payload=named.to_text()))], now)[0]


def _woken(now: int, _: int, head: Run) -> Run | None:
    is_waiting = head.fan is not None and head.state in (RunState.RUNNING, RunState.FAILED)
    return evolve(head, due_at=now) if is_waiting else None


class HeadStep(StrEnum):
    """The next step with a head that has not ended."""

    DROP = "drop"  # a pause took it back: it waits for no time
    CANCEL = "cancel"  # its job was cancelled before it began
    WITHDRAW = "withdraw"  # its job was paused before it began
    BEGIN = "begin"  # fix the list of its items
    STOP = "stop"  # stop its items
    RELEASE = "release"  # insert and send the next items
    WATCH = "watch"  # find out which items have ended
    CONCLUDE = "conclude"  # all items have ended


def next_step(head: Run, fan: FanOut, job: Job | None) -> HeadStep:
    """Return the next step with a head and its job, as they were read."""
    if head.state is RunState.WITHDRAWN:
        return HeadStep.DROP
    status = JobStatus.CANCELLED if job is None else job.status
    if head.state is RunState.QUEUED:
        if status is JobStatus.CANCELLED:
            return HeadStep.CANCEL
        is_taken_back = status is JobStatus.PAUSED and head.is_unstarted and head.root is None
        return HeadStep.WITHDRAW if is_taken_back else HeadStep.BEGIN
    if head.cancel_requested or status is JobStatus.CANCELLED:
        return HeadStep.STOP
    if fan.released < fan.count:
        return HeadStep.RELEASE
    return HeadStep.WATCH if fan.over < fan.count else HeadStep.CONCLUDE


def _step(context: Context, head: Run, job: Job | None) -> bool:
    now, fan = context.clock.now(), head.fan
    if fan is None:
        raise ValueError(f"{head.id} has no items")
    match next_step(head, fan, job):
        case HeadStep.DROP:
            after = due_again(head, None)
        case HeadStep.CANCEL:
            after = ended(head, RunState.CANCELLED, now, Guarantor.SCAN, Reason.JOB_CANCELLED)
        case HeadStep.WITHDRAW:
            after = withdrawn(head)
        case HeadStep.BEGIN:
            after = _begun(context, head, fan, job, now)
        case HeadStep.STOP:
            after = fan_out.concluded(_stopping(head), fan, _stop(context, head, fan, now), now)
        case HeadStep.RELEASE if job is not None:
            after = _release(context, head, fan, job, now)
        case HeadStep.WATCH:
            page = _items(context, head, fan.over + 1, min(fan.over + _PAGE, fan.count))
            after = fan_out.watched(head, fan, page, now)
        case _:
            after = fan_out.concluded(head, fan, _items(context, head, 1, fan.count), now)
    return change_runs(context, {head.id: job}, [Swap(head, after)], now)[0].done


def _has_expired(head: Run, fan: FanOut, job: Job | None) -> bool:
    kept = kept_of(head, fan.of.job.job_id) or (None if job is None else kept_of(job, fan.of.job.job_id))
    return kept is not None and kept.state in (State.SUCCEEDED, State.DEAD)


def _begun(context: Context, head: Run, fan: FanOut, job: Job | None, now: int) -> Run:
    """Return a head that begins with its items. If its parent's rows have expired, the items are lost, not absent."""
    if fan.items is not None:
        return fan_out.begun(head, fan, read_named(context, head.id, fan.items), fan.items, now)
    (run,) = context.store.runs.read([fan.of])
    if run is not None and not run.is_terminal:
        return fan_out.waiting_again(head, now)
    named = _named(context, run) if run is not None else None if _has_expired(head, fan, job) else NamedItems()
    is_good = named is not None and named.items and not (named.is_too_many or named.is_too_large)
    digest = save_named(context, head.id, named, now) if named is not None and is_good else None
    return fan_out.begun(head, fan, named, digest, now)


def _named(context: Context, run: Run) -> NamedItems | None:
    """Return all items that an ended run has named; None if the part of its answer that names items is invalid."""
    answered = fan_out.answered_items(answer_of(context, run)) if fan_out.is_answered(run) else []
    return None if answered is None else named_by(context, run).with_more(answered)


def _release(context: Context, head: Run, fan: FanOut, job: Job, now: int) -> Run:
    """Insert and send the next items; those that stand already are sent again, or tried again if that is asked.

    An item that still runs must end before a rerun lets it run again; its end makes the head due. A quota may leave the
    next items to a later minute: a scan finds the head when that minute begins.
    """
    tenant = head.id.job.tenant
    quotas = read_quotas(context, [tenant])[tenant]
    most = most_made(quotas)
    page = min(page_of(most) if most else _PAGE, fan.count - fan.released)
    room = room_at(context, tenant, quotas, page, now)
    if room > now:
        return due_again(head, room + context.rules.lookahead_ms)
    pairs = _insert(context, head, fan, job, page, now)
    _try_again(context, head, fan, pairs, now)
    waiting = [item for item, _ in pairs if item.state is RunState.QUEUED and item.due_at is None]
    if not all(send(context, waiting, now)):
        raise UnavailableError(f"the items of run {head.id} could not be sent")
    return fan_out.released(head, fan, fan.released + len(pairs), now)


def _insert(context: Context, head: Run, fan: FanOut, job: Job, page: int, now: int) -> list[tuple[Run, Run]]:
    """Insert the next items; return each row that stands, beside the new row, up to an item that must end first."""
    texts = read_named(context, head.id, fan.items or "").items[fan.released : fan.released + page]
    digests = context.store.works.save([(job.key, Work(payload=text)) for text in texts], now)
    (seen,) = within_ceilings(context, [job])
    rows = [
        fan_out.item_run(head, seen, fan.released + number, digest, now) for number, digest in enumerate(digests, 1)
    ]
    standing = context.store.runs.insert(rows, now)
    pairs = [(there or row, row) for row, there in zip(rows, standing, strict=True)]
    return list(takewhile(lambda pair: not fan_out.still_to_end(*pair, fan), pairs))


def _try_again(context: Context, head: Run, fan: FanOut, pairs: Sequence[tuple[Run, Run]], now: int) -> None:
    """Let items run again that ended before a rerun of the head. Raises UnavailableError if one kept changing."""
    changes = [(item, fan_out.tried_again(item, row, head, fan, now)) for item, row in pairs]
    again = [Swap(item, after) for item, after in changes if after is not None]
    if again and not all(one.done for one in context.store.runs.swap(again, now)):
        raise UnavailableError(f"the items of run {head.id} kept changing")


def _stop(context: Context, head: Run, fan: FanOut, now: int) -> list[Run | None]:
    """Stop the released items; return all items as they stand."""
    reason = _stopping(head).reason or Reason.JOB_CANCELLED
    items = [item for item in _items(context, head, 1, fan.count) if item is not None]
    jobs = {item.id: job for item, job in zip(items, read_jobs_of(context, items), strict=True)}
    live = [item for item in items if not item.is_terminal]
    compare_and_swap(partial(change_runs, context, jobs), live, lambda _, item: fan_out.stopped(item, now, reason), now)
    return _items(context, head, 1, fan.count)


def _stopping(head: Run) -> Run:
    return head if head.cancel_requested else evolve(head, cancel_requested=True, reason=Reason.JOB_CANCELLED)


def _items(context: Context, head: Run, first: int, last: int) -> list[Run | None]:
    return context.store.runs.read([fan_out.item_id(head.id, number) for number in range(first, last + 1)])
