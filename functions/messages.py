"""How a function deals with the messages of its queue: all together, or each alone where that goes wrong.

One bad message stops no other: what cannot be dealt with is kept elsewhere, for people.
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
    """Deal with all together, or with each alone if that goes wrong; return for each message whether it may go."""
    if not named:
        return {}
    ids = [record["messageId"] for record, _ in named]
    try:
        return dict(zip(ids, deal(context, [one for _, one in named]), strict=True))
    except UnavailableError as unavailable:
        log.warning("not dealt with together: %s", unavailable)
    except Exception:
        log.exception("not dealt with together")
    return {record["messageId"]: _is_dealt_with_alone(context, record, one, deal) for record, one in named}


def _is_dealt_with_alone(context: Context, record: Record, named: Named, deal: Dealing[Named]) -> bool:
    try:
        return deal(context, [named])[0]
    except UnavailableError as unavailable:
        log.warning("not dealt with: %s", unavailable)
        return False
    except Exception:
        log.exception("this cannot be dealt with")
        return unreadable_queue().keep(record)
