"""Send runs to their executors, and see to it that somebody looks at them again.

Invariant: no message of a run is sent that is not watched (watch.py); so losing one loses nothing.
"""

from collections.abc import Iterator, Sequence

from timeball.domain.policy.watch import FIRST_LOOK_MS
from timeball.engine.context import Context
from timeball.ports.queue import MAX_WATCHED, Dispatch, Watch


def send(context: Context, dispatches: Sequence[Dispatch], now: int) -> list[bool]:
    """Send each run's message, delayed until its instant. False: unknown, send it again."""
    watched = context.queue.watch(list(_watches(dispatches, now)))
    sent = context.queue.send(dispatches, now)
    return [done and watched[position // MAX_WATCHED] for position, done in enumerate(sent)]


def _watches(dispatches: Sequence[Dispatch], now: int) -> Iterator[Watch]:
    for start in range(0, len(dispatches), MAX_WATCHED):
        together = dispatches[start : start + MAX_WATCHED]
        last_at = max(now, *(dispatch.not_before for dispatch in together))
        yield Watch(tuple(dispatch.run for dispatch in together), last_at + FIRST_LOOK_MS)
