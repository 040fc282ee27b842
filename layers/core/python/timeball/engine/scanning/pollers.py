"""Look ahead once a minute, and raise the pollers of all priorities before a spike; lower them after it.

One scan does it, with one query of one shard; the due index does not know the priority of an entry. It is advice: a
change that fails is tried again a minute later, two processes that change the pollers decide the same, and no promise
depends on it.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from timeball.domain.sharing.executors import AHEAD_MS, KEPT_MS, PollerBounds, Ready, decide, wanted
from timeball.domain.time.instants import MINUTE_MS
from timeball.engine.context import Context
from timeball.ports.executors import Pollers

log = logging.getLogger(__name__)

_SHARD = 0
_MOST_ENTRIES = 20_000
"""How many entries of the shard are read. If so many are due in five minutes, pollers have long been raised."""


@dataclass
class PollerOutlook:
    """The memory of a process: when it last looked ahead (ms), and how many pollers are ready, by priority."""

    looked_at: int | None = None
    ready: dict[str, Ready] = field(default_factory=dict)


def look_ahead(context: Context, outlook: PollerOutlook, pollers: Pollers, bounds: Mapping[str, PollerBounds]) -> None:
    """Make as many pollers ready as the next minutes need, if this process has not done so for a minute. Never raises.

    A new process keeps the pollers that are ready, as if they had been wanted just now.
    """
    now = context.clock.now()
    if outlook.looked_at is not None and now < outlook.looked_at + MINUTE_MS:
        return
    outlook.looked_at = now
    try:
        if not outlook.ready:
            outlook.ready = {priority: Ready(count, now + KEPT_MS) for priority, count in pollers.ready().items()}
        wants = wanted(context.store.due.ahead(_SHARD, now, now + AHEAD_MS, _MOST_ENTRIES), context.rules.shards)
    except Exception:
        log.exception("the number of pollers needed is unknown")
        return
    for priority, ready in outlook.ready.items():
        after = decide(ready, wants, bounds[priority], now)
        try:
            if after.pollers != ready.pollers:
                pollers.make_ready(priority, after.pollers)
                log.info("pollers", extra={"priority": priority, "ready": after.pollers, "were": ready.pollers})
            outlook.ready[priority] = after
        except Exception:
            log.exception("pollers are left as they are", extra={"priority": priority})
