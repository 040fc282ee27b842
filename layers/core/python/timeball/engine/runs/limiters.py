"""Call those who wait in the lines of limiters, as many as there is room for: by priority, then fire time.

① read the rows of who has a place ② ask the index who waits, and read these rows ③ swap the limiter: it names who is
called, and when it is due again ④ send their messages ⑤ swap their rows: called. Anybody may do it at any time: who
ends a run that has a place, and the scan, as long as a limiter is due. Who dies behind ③ keeps places from others for
two leases at most, and who dies behind ④ has somebody called twice.
"""

from collections.abc import Iterable, Mapping, Sequence

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, LimiterKey, RunId
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.runs.run import Part, Run, RunState, Waiting
from timeball.domain.model.runs.transitions import called as called_run
from timeball.domain.sharing.limiter import (
    CALLED_AT_ONCE,
    called,
    expected,
    is_overdue,
    left_in_line,
    looked_at,
    not_called,
    room_for,
    slots_needed,
    slots_of,
)
from timeball.domain.sharing.stated import bounds_of
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.compare_and_swap import TRIES, compare_and_swap
from timeball.engine.context import Context
from timeball.engine.exclusions.read import read_quotas
from timeball.engine.runs.send import send
from timeball.ports.collections.rows import Swap
from timeball.ports.errors import UnavailableError

_SLACK = 25
"""How many more are asked for than there is room for: some that the index names wait no more."""

_READ_MORE = 5
"""How many more are read at a time, for the same reason."""

_MOST_LET_GO = 1_000


def free_places(context: Context, runs: Sequence[Run], had: Mapping[RunId, set[str]] | None = None) -> None:
    """Let others have the places of runs that need them no more. May be repeated. Raises UnavailableError.

    A run as it stands says in which limiters it may have one, and `had` says it of a run that was just changed. Other
    runs that are over are left to those that end them, and to the scan: each end costs the same, however many places.
    """
    over: dict[LimiterKey, list[Run]] = {}
    for run in runs:
        for name in (had or {}).get(run.id, slots_of(run)) - slots_needed(run):
            over.setdefault(LimiterKey(run.id.job.tenant, name), []).append(run)
    for limiter in context.store.limiters.read(list(over)) if over else ():
        if limiter is not None and limiter.due_at is not None:
            _move_on(context, limiter, over[limiter.key])


def move_on(context: Context, limiters: Sequence[Limiter]) -> int:
    """Call whom each limiter has room for, as it was read; return how many were called. Raises UnavailableError."""
    return sum(_move_on(context, one) for one in limiters)


def expect(context: Context, runs: Sequence[Run], *, are_new: bool = False) -> None:
    """See to it that runs that stand in a line are called: that their limiter is due. Raises UnavailableError.

    It is not if it was looked at before their rows were written, by a process that stood still, or were in the index.
    Of runs that are new in the line the index may know nothing yet: their limiter is due until it does.
    """
    waiting = {LimiterKey(run.id.job.tenant, run.waiting.name): None for run in runs if run.waiting is not None}
    limiters = context.store.limiters.read(list(waiting)) if waiting else []
    now = context.clock.now()

    def due(_: int, limiter: Limiter) -> Limiter | None:
        return expected(limiter, now) if are_new or limiter.due_at is None else None

    if not all(one.done for one in compare_and_swap(context.store.limiters.swap, limiters, due, now)):
        raise UnavailableError("a limiter kept changing")


def read_named(context: Context, limiter: Limiter, now: int) -> dict[RunId, Run | None]:
    """Read the runs that a limiter names. Of those that are overdue the rows are written anew, as they are.

    That refuses a claim which was decided long ago by a process that stood still: it has its place no more.
    """
    names = [one.run for one in limiter.begun]
    rows = dict(zip(names, context.store.runs.read(names), strict=True)) if names else {}
    overdue = [row for one in limiter.begun if (row := rows[one.run]) is not None and is_overdue(one, row, now)]
    outcomes = context.store.runs.swap([Swap(row, row) for row in overdue], now) if overdue else []
    return rows | {row.id: outcome.row for row, outcome in zip(overdue, outcomes, strict=True)}


def give_back(context: Context, job: JobKey, keys: Sequence[LimiterKey]) -> None:
    """Take the slots of limiters from those runs of a job that are under way, or wait for something else, by now.

    The row of a run that is named, and may be about to be claimed, is written anew: that refuses a claim which was
    decided by the job as it was. Raises UnavailableError.
    """
    now = context.clock.now()
    for limiter in context.store.limiters.read(keys) if keys else ():
        if limiter is None:
            continue
        name = limiter.key.name
        rows = context.store.runs.read([one.run for one in limiter.begun if one.run.job == job])

        def without(_: int, run: Run, name: str = name) -> Run | None:
            others = tuple(one for one in run.places if one != name)
            if name in slots_needed(run) and others != run.places:
                return evolve(run, places=others)
            is_being_claimed = run.waiting is None and not run.is_terminal and run.state is not RunState.RUNNING
            return run if is_being_claimed else None

        standing = compare_and_swap(context.store.runs.swap, rows, without, now)
        after = [one.row for one in standing if one.row is not None]
        free_places(context, after, {run.id: {name} for run in after})


def let_go(context: Context, job: JobKey, lines: Iterable[tuple[LimiterKey, Part]]) -> None:
    """Call the runs of a job out of lines in which it asks no more; who is far behind there is called in its turn.

    Raises UnavailableError.
    """
    now = context.clock.now()
    for key, part in lines:
        names = [run for run in context.store.runs.in_line(key, part, _MOST_LET_GO) if run.job == job]
        rows = context.store.runs.read(names) if names else []
        mine = Waiting(key.name, part)
        _call(context, [(run, now) for run in rows if run is not None and run.waiting == mine], now)


def _move_on(context: Context, limiter: Limiter, over: Sequence[Run] = ()) -> int:
    """Call some, and then others as long as there are many; leave it to others where they do it."""
    standing: Limiter | None = limiter
    count = 0
    for _ in range(TRIES):
        if standing is None:
            break
        now = context.clock.now()
        after, calls = _called(context, standing, over, now)
        (swapped,) = context.store.limiters.swap([Swap(standing, after)], now)
        standing = swapped.row
        if swapped.done:
            if not _call(context, calls, now) and standing is not None:
                _look_again(context, standing, now)
            count += len(calls)
            if len(calls) < CALLED_AT_ONCE:
                break
    return count


def _called(context: Context, limiter: Limiter, over: Sequence[Run], now: int) -> tuple[Limiter, list[tuple[Run, int]]]:
    """Return the limiter as it is to be, and who is called, and for when (ms). Who is known to be `over` need do."""
    if not limiter.key.name:
        tenant = limiter.key.tenant
        limiter = evolve(limiter, said=bounds_of(read_quotas(context, [tenant])[tenant]))
    rows: Mapping[RunId, Run | None] = {run.id: run for run in over} or read_named(context, limiter, now)
    limiter = looked_at(limiter, rows, now)
    calls = [(run, now) for run in not_called(limiter, rows, now, context.rules.lease_ms)]
    left: list[Part] = []
    for part in Part:
        room = room_for(limiter, part, now)
        first, are_more = _first(context, limiter, part, room)
        limiter, instants = called(limiter, part, first, now, context.rules.lease_ms)
        calls += zip(first, instants, strict=True)
        left += [part] if are_more else []
    after = left_in_line(limiter, left, now, some_called=bool(calls))
    if over and limiter.due_at is not None and after.due_at is not None:
        # Nothing was read of the others that are named: the scan's look at them is due when it was.
        after = evolve(after, due_at=min(limiter.due_at, after.due_at))
    return after, calls


def _first(context: Context, limiter: Limiter, part: Part, room: int) -> tuple[list[Run], bool]:
    """Return the first in a line, as many as there is room for, if any; and whether more stand there.

    Who is named and stands in the line for places was called: that is on its way, or was in vain.
    """
    if room <= 0:
        return [], bool(context.store.runs.in_line(limiter.key, part, 1))
    limit = room + len(limiter.begun) + _SLACK
    ids = context.store.runs.in_line(limiter.key, part, limit)
    mine = Waiting(limiter.key.name, part)
    named = {one.run for one in limiter.begun} if part is Part.PLACE else set()
    first: list[Run] = []
    standing = read = 0
    while read < len(ids) and len(first) < room:
        rows = context.store.runs.read(ids[read : read + room + _READ_MORE])
        there = [run for run in rows if run is not None and run.waiting == mine]
        first += [run for run in there if run.id not in named]
        standing, read = standing + len(there), read + len(rows)
    return first[:room], len(ids) == limit or read < len(ids) or len(first[:room]) < standing


def _call(context: Context, calls: Sequence[tuple[Run, int]], now: int) -> bool:
    """Send messages, then note that they were sent; return whether all were. Runs without a note are called again."""
    if not calls:
        return True
    sent = send(context, [evolve(run, not_before=max(run.not_before, at)) for run, at in calls], now)
    swaps = [Swap(run, called_run(run, now)) for (run, _), done in zip(calls, sent, strict=True) if done]
    context.store.runs.swap(swaps, now)
    return all(sent)


def _look_again(context: Context, limiter: Limiter, now: int) -> None:
    """Let a limiter be due soon: a run that it names was not sent. If the limiter changes, another process looks."""
    soon_at = now + SECOND_MS
    due_at = soon_at if limiter.due_at is None else min(limiter.due_at, soon_at)
    context.store.limiters.swap([Swap(limiter, evolve(limiter, due_at=due_at))], now)
