"""Trials that call nobody."""

from timeball.ports.errors import UnavailableError
from timeball.ports.trials import Trial, Tried


class MemoryTrials:
    """Notes what is tried, and answers each time with what `comes`; None: nobody knows."""

    def __init__(self) -> None:
        self.made: list[Trial] = []
        self.comes: Tried | None = Tried("succeeded", may_retry=False, status=200, body="ok", error=None)

    def make(self, trial: Trial) -> Tried:
        """Note the trial."""
        self.made.append(trial)
        if self.comes is None:
            raise UnavailableError("nobody knows")
        return self.comes
