"""Admit runs that wait in the lines of limiters, as many as there is room for: by priority, then fire time.

① Read the rows of the runs that have slots. ② Ask the index which runs wait, and read their rows. ③ Swap the limiter:
it names the admitted runs, and when it is due again. ④ Send their messages. ⑤ Swap their rows: admitted. Any process
may do so at any time. The process that ends a run with a slot does, and so does the scan while a limiter is due. If the
process dies after ③, slots stay taken for two leases at most; if it dies after ④, a run is admitted twice.
"""

from collections.abc import Iterable, Mapping, Sequence

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, LimiterKey, RunId
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.runs.run import Permit, Run, RunState, Waiting
from timeball.domain.model.runs.transitions import admitted as admitted_run
from timeball.domain.sharing import slots_and_tokens as limits
from timeball.domain.sharing.stated_limits import bounds_of
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.blackouts.read import read_quotas
from timeball.engine.compare_and_swap import TRIES, change_all, compare_and_swap
from timeball.engine.context import Context
from timeball.engine.runs.send import send
from timeball.ports.rows import Swap

_SLACK = 25
"""How many more runs are read from the index than there is room for: some of them no longer wait."""

_READ_MORE = 5
"""How many more rows are read at a time, for the same reason."""

_MOST_LET_GO = 1_000


def release_slots(context: Context, runs: Sequence[Run], had: Mapping[RunId, set[str]] | None = None) -> None:
    """Pass on the slots that runs no longer need. May be repeated. Raises UnavailableError.

    The limiters in which a run may have a slot are on its row as it stands; for a run that was just changed, `had` has
    them. Other ended runs are left to the processes that end them, and to the scan: each end costs the same, however
    many slots a limiter has.
    """
    over: dict[LimiterKey, list[Run]] = {}
    for run in runs:
        for name in (had or {}).get(run.id, limits.slots_of(run)) - limits.slots_needed(run):
            over.setdefault(LimiterKey(run.id.job.tenant, name), []).append(run)
    for limiter in context.store.limiters.read(list(over)) if over else ():
        if limiter is not None and limiter.due_at is not None:
            _admit_from(context, limiter, over[limiter.key])


def admit_waiting(context: Context, limiters: Sequence[Limiter]) -> int:
    """Admit the runs for which each limiter has room, as it was read; return their number. Raises UnavailableError.

    Order of writes of admit (a run in the line of a limiter):

    1. Drop the holders of slots that are over, and rewrite the rows of runs whose claim is long overdue.
    2. Ask the index for the first in line, and read their rows.
    3. Swap the limiter: it names them.
    4. Send their messages.
    5. Swap their rows: admitted.

    Safe: while the limiter is due, the scan and the ends of runs do it; a run that is named but not marked as admitted
    still stands in the line (ADR 37).
    """
    return sum(_admit_from(context, one) for one in limiters)


def expect(context: Context, runs: Sequence[Run], *, are_new: bool = False) -> None:
    """Make the limiters of waiting runs due, so that these are admitted. Raises UnavailableError.

    A limiter may not be due: a process that stood still may have checked it before the runs' rows were written or were
    in the index. With `are_new` the index may not have the runs yet: their limiter is then due until it does.
    """
    waiting = {LimiterKey(run.id.job.tenant, run.waiting.name): None for run in runs if run.waiting is not None}
    limiters = context.store.limiters.read(list(waiting)) if waiting else []
    now = context.clock.now()

    def due(_: int, limiter: Limiter) -> Limiter | None:
        return limits.expected(limiter, now) if are_new or limiter.due_at is None else None

    change_all(context.store.limiters.swap, limiters, due, now, "a limiter")


def read_named(context: Context, limiter: Limiter, now: int) -> dict[RunId, Run | None]:
    """Read the runs that a limiter names. The rows of overdue runs are written anew, unchanged.

    That refuses a claim that was decided long ago by a process that stood still: its run no longer has the slot.
    """
    names = [one.run for one in limiter.begun]
    rows = dict(zip(names, context.store.runs.read(names), strict=True)) if names else {}
    overdue = [row for one in limiter.begun if (row := rows[one.run]) is not None and limits.is_overdue(one, row, now)]
    outcomes = context.store.runs.swap([Swap(row, row) for row in overdue], now) if overdue else []
    return rows | {row.id: outcome.row for row, outcome in zip(overdue, outcomes, strict=True)}


def take_back_slots(context: Context, job: JobKey, keys: Sequence[LimiterKey]) -> None:
    """Take a limiter's slots from the runs of a job that are under way, or by now wait for something else.

    The row of a run that is named, and may be about to be claimed, is written anew: that refuses a claim that was
    decided by the job as it was. Raises UnavailableError.
    """
    now = context.clock.now()
    for limiter in context.store.limiters.read(keys) if keys else ():
        if limiter is None:
            continue
        name = limiter.key.name
        rows = context.store.runs.read([one.run for one in limiter.begun if one.run.job == job])

        def without(_: int, run: Run, name: str = name) -> Run | None:
            others = tuple(one for one in run.slots if one != name)
            if name in limits.slots_needed(run) and others != run.slots:
                return evolve(run, slots=others)
            is_being_claimed = run.waiting is None and not run.is_terminal and run.state is not RunState.RUNNING
            return run if is_being_claimed else None

        standing = compare_and_swap(context.store.runs.swap, rows, without, now)
        after = [one.row for one in standing if one.row is not None]
        release_slots(context, after, {run.id: {name} for run in after})


def take_out_of_lines(context: Context, job: JobKey, lines: Iterable[tuple[LimiterKey, Permit]]) -> None:
    """Admit the runs of a job in lines that it no longer uses. Runs far back in a line are admitted in turn.

    Raises UnavailableError.
    """
    now = context.clock.now()
    for key, permit in lines:
        names = [run for run in context.store.runs.in_line(key, permit, _MOST_LET_GO) if run.job == job]
        waiting = _still_waiting(context, names, Waiting(key.name, permit)) if names else []
        _send(context, [(run, now) for run in waiting], now)


def _admit_from(context: Context, limiter: Limiter, over: Sequence[Run] = ()) -> int:
    """Admit runs, in several rounds if there are many; stop where another process does so."""
    standing: Limiter | None = limiter
    count = 0
    for _ in range(TRIES):
        if standing is None:
            break
        now = context.clock.now()
        after, admissions = _admitted(context, standing, over, now)
        (swapped,) = context.store.limiters.swap([Swap(standing, after)], now)
        standing = swapped.row
        if swapped.done:
            if not _send(context, admissions, now) and standing is not None:
                _recheck_soon(context, standing, now)
            count += len(admissions)
            if len(admissions) < limits.ADMITTED_AT_ONCE:
                break
    return count


def _admitted(
    context: Context, limiter: Limiter, over: Sequence[Run], now: int
) -> tuple[Limiter, list[tuple[Run, int]]]:
    """Return the changed limiter, and the admitted runs with their instants (ms). Runs known to be `over` suffice."""
    if not limiter.key.name:
        tenant = limiter.key.tenant
        limiter = evolve(limiter, said=bounds_of(read_quotas(context, [tenant])[tenant]))
    rows: Mapping[RunId, Run | None] = {run.id: run for run in over} or read_named(context, limiter, now)
    limiter = limits.without_ended(limiter, rows, now)
    admissions = [(run, now) for run in limits.not_admitted(limiter, rows, now, context.rules.lease_ms)]
    left: list[Permit] = []
    for permit in Permit:
        room = limits.room_for(limiter, permit, now)
        first, are_more = _first(context, limiter, permit, room)
        limiter, instants = limits.admitted(limiter, permit, first, now, context.rules.lease_ms)
        admissions += zip(first, instants, strict=True)
        left += [permit] if are_more else []
    after = limits.left_in_line(limiter, left, now, some_admitted=bool(admissions))
    if over and limiter.due_at is not None and after.due_at is not None:
        # The other named runs were not read: the scan's check of them stays due when it was.
        after = evolve(after, due_at=min(limiter.due_at, after.due_at))
    return after, admissions


def _first(context: Context, limiter: Limiter, permit: Permit, room: int) -> tuple[list[Run], bool]:
    """Return the first runs in a line, as many as there is room for, and whether the line has more.

    A run that has a slot and still stands in the line for slots was admitted already: its message is under way or lost.
    """
    if room <= 0:
        return [], bool(context.store.runs.in_line(limiter.key, permit, 1))
    limit = room + len(limiter.begun) + _SLACK
    ids = context.store.runs.in_line(limiter.key, permit, limit)
    mine = Waiting(limiter.key.name, permit)
    named = {one.run for one in limiter.begun} if permit is Permit.SLOT else set()
    first: list[Run] = []
    standing = read = 0
    while read < len(ids) and len(first) < room:
        there = _still_waiting(context, ids[read : read + room + _READ_MORE], mine)
        first += [run for run in there if run.id not in named]
        standing, read = standing + len(there), read + room + _READ_MORE
    return first[:room], len(ids) == limit or read < len(ids) or len(first[:room]) < standing


def _still_waiting(context: Context, ids: Sequence[RunId], mine: Waiting) -> list[Run]:
    return [run for run in context.store.runs.read(ids) if run is not None and run.waiting == mine]


def _send(context: Context, admissions: Sequence[tuple[Run, int]], now: int) -> bool:
    """Send messages, then note that they were sent; return whether all were. Runs without a note are admitted again."""
    if not admissions:
        return True
    sent = send(context, [evolve(run, not_before=max(run.not_before, at)) for run, at in admissions], now)
    swaps = [Swap(run, admitted_run(run, now)) for (run, _), done in zip(admissions, sent, strict=True) if done]
    context.store.runs.swap(swaps, now)
    return all(sent)


def _recheck_soon(context: Context, limiter: Limiter, now: int) -> None:
    """Make a limiter due soon: a run that it names was not sent. If the limiter changes, another process checks it."""
    soon_at = now + SECOND_MS
    due_at = soon_at if limiter.due_at is None else min(limiter.due_at, soon_at)
    context.store.limiters.swap([Swap(limiter, evolve(limiter, due_at=due_at))], now)
