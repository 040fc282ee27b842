"""Call those who wait in the lines of limiters, as many as there is room for: by priority, then fire time.

① read the rows of who has a place ② ask the index who waits, and read these rows ③ swap the limiter: it names who is
called, and when it is due again ④ send their messages ⑤ swap their rows: called. Anybody may do it at any time: who
ends a run that has a place, and the scan, as long as a limiter is due. Who dies behind ③ keeps places from others for
two leases at most, and who dies behind ④ has somebody called twice.
"""

from collections.abc import Sequence

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import LimiterKey
from timeball.domain.model.limiter import Limiter
from timeball.domain.model.run import Part, Run, RunState, Waiting
from timeball.domain.model.transitions import called as called_run
from timeball.domain.sharing.limiter import (
    CALLED_AT_ONCE,
    asked_by,
    bounds_of,
    called,
    left_in_line,
    looked_at,
    room_for,
)
from timeball.engine.compare_and_swap import TRIES
from timeball.engine.context import Context
from timeball.engine.exclusions.read import read_quotas
from timeball.engine.runs.send import send
from timeball.ports.collections.rows import Swap

_SLACK = 25
"""How many more are asked for than there is room for: some that the index names wait no more."""


def free_places(context: Context, runs: Sequence[Run]) -> None:
    """Let others have the places of runs that are under way no more. May be repeated. Raises UnavailableError."""
    over = [run for run in runs if run.state is not RunState.RUNNING]
    keys = list(dict.fromkeys(LimiterKey(run.id.job.tenant, name) for run in over for name in run.places))
    limiters = context.store.limiters.read(keys) if keys else []
    move_on(context, [one for one in limiters if one is not None and one.due_at is not None])


def move_on(context: Context, limiters: Sequence[Limiter]) -> int:
    """Call whom each limiter has room for, as it was read; return how many were called. Raises UnavailableError."""
    return sum(_move_on(context, one) for one in limiters)


def _move_on(context: Context, limiter: Limiter) -> int:
    """Call some, and then others as long as there are many; leave it to others where they do it."""
    standing: Limiter | None = limiter
    count = 0
    for _ in range(TRIES):
        if standing is None:
            break
        now = context.clock.now()
        after, calls = _called(context, standing, now)
        (swapped,) = context.store.limiters.swap([Swap(standing, after)], now)
        standing = swapped.row
        if swapped.done:
            _call(context, calls, now)
            count += len(calls)
            if len(calls) < CALLED_AT_ONCE:
                break
    return count


def _called(context: Context, limiter: Limiter, now: int) -> tuple[Limiter, list[tuple[Run, int]]]:
    """Return the limiter as it is to be, and who is called, and for when (ms)."""
    if not limiter.key.name:
        tenant = limiter.key.tenant
        limiter = evolve(limiter, said=bounds_of(read_quotas(context, [tenant])[tenant]))
    named = [one.run for one in limiter.begun]
    if named:
        limiter = looked_at(limiter, dict(zip(named, context.store.runs.read(named), strict=True)), now)
    calls: list[tuple[Run, int]] = []
    left: list[Part] = []
    for part in Part:
        room = room_for(limiter, part, now)
        first, are_more = _first(context, limiter, part, room) if room > 0 else ([], part in limiter.lines)
        limiter, instants = called(limiter, part, first, now, context.rules.lease_ms)
        calls += zip(first, instants, strict=True)
        left += [part] if are_more else []
    asked = asked_by([run for run, _ in calls]) if calls else limiter.asked
    return left_in_line(evolve(limiter, asked=asked), left, now, some_called=bool(calls)), calls


def _first(context: Context, limiter: Limiter, part: Part, room: int) -> tuple[list[Run], bool]:
    """Return the first in a line, as many as there is room for; and whether more stand there.

    Who is named was called, and stands there still: that is on its way, or was in vain.
    """
    limit = room + len(limiter.begun) + _SLACK
    ids = context.store.runs.in_line(limiter.key, part, limit)
    rows = context.store.runs.read(ids) if ids else []
    mine, named = Waiting(limiter.key.name, part), {one.run for one in limiter.begun}
    standing = [run for run in rows if run is not None and run.waiting == mine]
    first = [run for run in standing if run.id not in named][:room]
    return first, len(ids) == limit or len(first) < len(standing)


def _call(context: Context, calls: Sequence[tuple[Run, int]], now: int) -> None:
    """Send messages, and then note that they were sent: who is not noted is called again."""
    if not calls:
        return
    sent = send(context, [evolve(run, not_before=max(run.not_before, at)) for run, at in calls], now)
    swaps = [Swap(run, called_run(run)) for (run, _), done in zip(calls, sent, strict=True) if done]
    context.store.runs.swap(swaps, now)
