"""The details of a trial's call beside its answer: the adapter that makes the call records them here.

Invariant: nothing that is recorded is secret.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Trace:
    """The request and the answer's headers of one call, and how long each phase took (ms)."""

    request: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    took_ms: Mapping[str, int] = field(default_factory=dict)
    signatures: int = 0
