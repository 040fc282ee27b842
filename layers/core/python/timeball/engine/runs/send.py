"""Send runs to their executors, and let the watch read their rows again later.

Invariant: no message of a run is sent that is not watched (watch.py), so the loss of a message loses nothing.

If a quota bounds how many runs events and fan-outs make, `room_at` counts a page of them before they are made: as a
whole, or not at all. Without room it is made in a later minute. A page that is made again after a crash, or because it
could not be stored, counts twice.
"""

from collections.abc import Iterator, Sequence

from timeball.domain.attempts.watch import FIRST_RECHECK_MS
from timeball.domain.model.runs.run import Run
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.sharing.fairness import most_made
from timeball.domain.time.instants import MINUTE_MS
from timeball.engine.context import Context
from timeball.ports.counters import CountWindow
from timeball.ports.queue import MAX_WATCHED, Watch

_NAME = "made-runs"


def send(context: Context, runs: Sequence[Run], now: int) -> list[bool]:
    """Send each run's message, delayed until its instant. False: the result is unknown, send it again.

    SQS may refuse single messages of a batch. A run whose watch was refused is not sent.

    Order of writes of send (part of each verb that sends):

    1. Send a watch that names the runs, delayed until 20 s after their instant.
    2. Send the messages of those runs whose watch was accepted; a message names runs that are alike in tenant, priority
       and instant.

    Safe: no message is sent without a watch; SQS may refuse single messages of a batch, and the verb sends those runs
    again.
    """
    watched = context.queue.watch(list(_watches(runs, now)))
    is_watched = [watched[position // MAX_WATCHED] for position in range(len(runs))]
    sent = iter(context.queue.send([run for run, able in zip(runs, is_watched, strict=True) if able], now))
    return [able and next(sent) for able in is_watched]


def room_at(context: Context, tenant: str, quotas: Quotas, amount: int, now: int) -> int:
    """Count runs that are about to be made; return `now`, or the start of the next minute if this one has no room.

    Raises UnavailableError.
    """
    most = most_made(quotas)
    if not most:
        return now
    window = CountWindow(tenant, _NAME, now - now % MINUTE_MS, 60)
    return now if context.store.windows.take(window, amount, most) else window.ends_at


def _watches(runs: Sequence[Run], now: int) -> Iterator[Watch]:
    for start in range(0, len(runs), MAX_WATCHED):
        together = runs[start : start + MAX_WATCHED]
        last_at = max(now, *(run.not_before for run in together))
        yield Watch(tuple(run.id for run in together), last_at + FIRST_RECHECK_MS)
