"""Look ahead once a minute, and raise the pollers of all priorities before a spike; lower them after it.

One scan does it, in one query of one shard; the due index does not say of which priority something is. It is advice: a
change that fails is tried again a minute later, two who change the same are of one mind, and no promise depends on it.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from timeball.domain.sharing.pollers import AHEAD_MS, KEPT_MS, Bounds, Ready, decide, wanted
from timeball.domain.time.instants import MINUTE_MS
from timeball.engine.context import Context
from timeball.ports.pollers import Pollers

log = logging.getLogger(__name__)

_SHARD = 0
_MOST_ENTRIES = 20_000
"""Of the shard, that are looked at: where so many are due in five minutes, pollers have long been raised."""


@dataclass
class Outlook:
    """What a process remembers: when it looked ahead (ms), and how many pollers stand ready, by priority."""

    looked_at: int | None = None
    ready: dict[str, Ready] = field(default_factory=dict)


def look_ahead(context: Context, outlook: Outlook, pollers: Pollers, bounds: Mapping[str, Bounds]) -> None:
    """Let as many pollers stand ready as the next minutes want, if nobody has looked for a minute. Never raises.

    A process that is new keeps what stands ready, as if that had been wanted just now.
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
        log.exception("nobody knows how many pollers are wanted")
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
