"""Match EventBridge's patterns by moto's rules: the memory bus has no rules of its own."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from moto.core.exceptions import JsonRESTError
from moto.events.models import EventPattern


@lru_cache(maxsize=1000)
def _loaded(pattern: str) -> EventPattern:
    return EventPattern.load(pattern)


def matches(pattern: str, event: Mapping[str, Any]) -> bool:
    """Return whether a pattern matches an event. Raise ValueError if the pattern is invalid."""
    try:
        loaded = _loaded(pattern)
    except JsonRESTError as error:
        raise ValueError(str(error)) from None
    return bool(loaded.matches_event(dict(event)))
