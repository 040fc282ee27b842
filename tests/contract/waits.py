"""A virtual time in which AWS is asked: nothing is waited for, and every wait is noted."""

from collections.abc import Callable

from tests.contract.rows import NOW
from timeball.aws.patience import PATIENT, Asker, Invocation, Patience
from timeball.testing.virtual_clock import VirtualClock


class Waits:
    """A clock, the pauses that passed on it, and when its invocation ends."""

    def __init__(self) -> None:
        self.clock = VirtualClock(NOW)
        self.invocation = Invocation()
        self.seconds: list[float] = []

    def asker(self, patience: Patience = PATIENT, draw: Callable[[], float] = lambda: 1.0) -> Asker:
        """Return what asks in this time, and draws the longest pauses unless it is told otherwise."""
        return Asker(patience, self.invocation, self.clock.now, self._pass, draw)

    @property
    def passed_ms(self) -> int:
        """How long all of it has taken."""
        return self.clock.now() - NOW

    def _pass(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.clock.advance(round(seconds * 1000))
