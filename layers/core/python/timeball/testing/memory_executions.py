"""Executions in memory: each ends at an instant that its test chooses, unless it is stopped before."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from timeball.ports.executions import UNDER_WAY, UNKNOWN, ExecutionStatus


@dataclass(frozen=True)
class Started:
    """An execution: when it ends (ms), with which result, and when it was stopped."""

    ends_at: int
    end: ExecutionStatus
    stopped_at: int | None = None


class MemoryExecutions:
    """The started executions. While it is `silent`, no poll is answered and nothing is stopped.

    In addition, the next `unanswered` polls are not answered.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self.started: dict[str, Started] = {}
        self.looks: list[tuple[int, str]] = []
        self.silent = False
        self.unanswered = 0

    def start(self, arn: str, ends_at: int, end: ExecutionStatus) -> None:
        """Start an execution, unless one has that name."""
        self.started.setdefault(arn, Started(ends_at, end))

    def poll(self, arns: Sequence[str]) -> list[ExecutionStatus | None]:
        """Return how each execution stands; None if that is unknown now."""
        self.looks += [(self._now(), arn) for arn in arns]
        is_answered = not self.silent and self.unanswered == 0
        self.unanswered = max(0, self.unanswered - 1)
        return [self._standing(arn) if is_answered else None for arn in arns]

    def stop(self, arns: Sequence[str]) -> list[bool]:
        """Stop each execution that is under way; return whether that is done."""
        for arn in () if self.silent else arns:
            one = self.started.get(arn)
            if one is not None and one.stopped_at is None and self._now() < one.ends_at:
                self.started[arn] = replace(one, stopped_at=self._now())
        return [not self.silent and arn in self.started for arn in arns]

    def _standing(self, arn: str) -> ExecutionStatus:
        one = self.started.get(arn)
        if one is None:
            return UNKNOWN
        if one.stopped_at is not None:
            return ExecutionStatus(is_over=True, error="The execution was stopped.")
        return UNDER_WAY if self._now() < one.ends_at else one.end
