"""Requests to AWS in virtual time: no real waiting, and every pause is recorded."""

from collections.abc import Callable

from tests.contract.rows import NOW
from timeball.aws.request_retries import PATIENT, Asker, Invocation, Patience
from timeball.testing.virtual_clock import VirtualClock


class Waits:
    """A clock, the pauses that passed on it, and when its invocation ends."""

    def __init__(self) -> None:
        self.clock = VirtualClock(NOW)
        self.invocation = Invocation()
        self.seconds: list[float] = []

    def asker(self, patience: Patience = PATIENT, draw: Callable[[], float] = lambda: 1.0) -> Asker:
        """Return an asker in this time, which draws the longest pauses by default."""
        return Asker(patience, self.invocation, self.clock.now, self._pass, draw)

    @property
    def passed_ms(self) -> int:
        """Return the time of all pauses so far."""
        return self.clock.now() - NOW

    def _pass(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.clock.advance(round(seconds * 1000))
