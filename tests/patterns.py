"""What matches a pattern of EventBridge's, as moto knows it: the memory bus decides nothing by itself."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from moto.core.exceptions import JsonRESTError
from moto.events.models import EventPattern


@lru_cache(maxsize=1000)
def _loaded(pattern: str) -> EventPattern:
    return EventPattern.load(pattern)


def matches(pattern: str, event: Mapping[str, Any]) -> bool:
    """Say whether a pattern matches an event. Raises ValueError for what is no pattern."""
    try:
        loaded = _loaded(pattern)
    except JsonRESTError as error:
        raise ValueError(str(error)) from None
    return bool(loaded.matches_event(dict(event)))
