"""Note the era of this process's settings, rules and time zone data, if no process has done so before.

A scan does so before it plans. While a deployment goes on, processes of the former era may plan beside it.
"""

from timeball.domain.planning.era import DEPLOYMENT, Era
from timeball.engine.context import Context


def note_era(context: Context) -> None:
    """Store the present era, unless it is the newest one; once in a process. Raises UnavailableError."""
    known, now = context.known, context.clock.now()
    if known.era is not None:
        return
    own = Era(now, context.rules.misfire_ms, context.rules.lookahead_ms)
    newest = context.store.eras.of_owner(DEPLOYMENT, 1)
    if not newest or newest[0].digest != own.digest:
        context.store.eras.note([(DEPLOYMENT, own)], now)
    known.era = newest[0] if newest and newest[0].digest == own.digest else own


def era_at(context: Context, at: int) -> Era | None:
    """Return the era in force at an instant (ms); None if it is not known. Raises UnavailableError."""
    found = context.store.eras.of_owner(DEPLOYMENT, 1, (at + 1, ""))
    return found[0] if found else None
