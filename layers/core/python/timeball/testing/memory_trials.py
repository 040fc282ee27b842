"""Trials that call no target."""

from timeball.ports.errors import UnavailableError
from timeball.ports.trials import Trial, Tried


class MemoryTrials:
    """Records trials, and answers each with `comes`; with None it raises UnavailableError."""

    def __init__(self) -> None:
        self.made: list[Trial] = []
        self.comes: Tried | None = Tried("succeeded", may_retry=False, status=200, body="ok", error=None)

    def make(self, trial: Trial) -> Tried:
        """Record the trial."""
        self.made.append(trial)
        if self.comes is None:
            raise UnavailableError("the result of the trial is unknown")
        return self.comes
