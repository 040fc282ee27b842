"""A merge patch (RFC 7396): given values replace, null removes, objects are merged, the rest stays."""

from collections.abc import Mapping
from typing import Any


def merge(target: object, patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document after a patch."""
    after = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            after.pop(name, None)
        else:
            after[name] = merge(after.get(name), value) if isinstance(value, dict) else value
    return after
