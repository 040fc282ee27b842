"""How a function processes the messages of its queue: all together, or each by itself if that fails.

One bad message stops no other: a message that cannot be processed is kept elsewhere, for people.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from timeball.engine.context import Context
from timeball.ports.errors import UnavailableError
from timeball.runtime.wiring import unreadable_queue

log = logging.getLogger(__name__)

Record = Mapping[str, Any]
Named = TypeVar("Named")
Dealing = Callable[[Context, Sequence[Named]], list[bool]]


def dealt_with(context: Context, named: Sequence[tuple[Record, Named]], deal: Dealing[Named]) -> dict[str, bool]:
    """Process all messages together, or each by itself if that fails; return for each whether it may be deleted."""
    if not named:
        return {}
    ids = [record["messageId"] for record, _ in named]
    try:
        return dict(zip(ids, deal(context, [one for _, one in named]), strict=True))
    except UnavailableError as unavailable:
        log.warning("not processed together: %s", unavailable)
    except Exception:
        log.exception("not processed together")
    return {record["messageId"]: _is_dealt_with_alone(context, record, one, deal) for record, one in named}


def _is_dealt_with_alone(context: Context, record: Record, named: Named, deal: Dealing[Named]) -> bool:
    try:
        return deal(context, [named])[0]
    except UnavailableError as unavailable:
        log.warning("not processed: %s", unavailable)
        return False
    except Exception:
        log.exception("this message cannot be processed")
        return unreadable_queue().keep(record)
