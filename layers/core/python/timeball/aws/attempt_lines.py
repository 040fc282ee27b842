"""The log of attempts: a line of JSON for each, which CloudWatch Logs reads field by field.

As in embedded_metrics.py it is written without a library: `print` and `json` take a quarter of the processor time of
`logging` with a formatter.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from timeball.domain.attempts.attempt_line import Line


class AttemptDetail(StrEnum):
    """Which attempts have a line."""

    ALL = "all"
    FAILED = "failed"
    OFF = "off"


@dataclass(frozen=True)
class PrintedAttempts:
    """Prints lines to the function's log."""

    detail: AttemptDetail

    def wants(self, *, has_succeeded: bool) -> bool:
        """Return whether an attempt has a line."""
        return self.detail is AttemptDetail.ALL or (self.detail is AttemptDetail.FAILED and not has_succeeded)

    def write(self, lines: Sequence[Line]) -> None:
        """Print each line by itself: Lambda makes one event of what is printed at once."""
        for line in lines:
            print(json.dumps(line), flush=True)  # noqa: T201 - Lambda's log is what a function prints
