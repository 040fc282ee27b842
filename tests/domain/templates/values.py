"""Values with which templates are filled."""

import json
from typing import Any

from timeball.domain.templates.template import Values


def values(payload: Any = None) -> Values:
    text = None if payload is None else json.dumps(payload)
    return Values("nightly", "nightly.1795253400023.s", "2026-11-21T09:30:00.023Z", 3, text)
