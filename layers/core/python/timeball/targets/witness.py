"""What a trial wants to know of a call beside its answer: the adapter that makes the call tells it here.

Invariant: nothing that is told is secret.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Witness:
    """What one call has sent, what came back, and what took how long (ms), part by part."""

    request: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    took_ms: Mapping[str, int] = field(default_factory=dict)
    signatures: int = 0
