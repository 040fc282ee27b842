"""How long AWS is asked, and how often: the one place where a request is repeated, for boto3 asks once.

A request that was throttled, or that nothing came back of, is asked again after a pause. The pause is drawn at random
from a range that doubles (exponential backoff with full jitter), so that those who were refused together do not come
back together.

Invariant: no request outlasts its patience, and none its invocation, for a try that might is not begun. What nobody has
answered by then is unknown.
"""

import math
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Protocol, TypeVar

from timeball.domain.time.instants import SECOND_MS
from timeball.ports.errors import UnavailableError

if TYPE_CHECKING:
    from botocore.config import Config

_Event = TypeVar("_Event")
_Timed = TypeVar("_Timed", bound="Timed")
_Answer = TypeVar("_Answer")

CONNECTIONS = 64
ROOM_SECONDS = 1
"""What an invocation keeps of its time to say what happened, when nothing is asked any longer."""

PAUSES_SECONDS = (0.05, 0.1, 0.2, 0.4, 0.8)
"""The longest that each pause may be: six tries in less than two seconds.

No longer: of rows that are throttled for good, whoever asks for many finds out by asking for fewer, again and again;
and where a table is throttled, everybody here comes back by himself, a scan in a second.
"""

_UNKNOWN = ("Throttl", "TooManyRequests", "Exceeded", "Conflict", "Timeout", "InternalServer")
"""What stands in the code of an error that is no word about the request itself, nor about a statement of a batch."""

_TOO_MANY = 429
"""The status by which Lambda says that it runs as much as it may: later it will take the same request."""


@dataclass(frozen=True)
class Patience:
    """How long one try waits for AWS, and how long one request may take with all of its tries, in seconds."""

    connect_seconds: int
    read_seconds: int
    longest_seconds: int

    @property
    def try_seconds(self) -> int:
        """How long one try may take."""
        return self.connect_seconds + self.read_seconds

    def config(self) -> "Config":
        """Return what makes a client of boto3 ask once, and wait so long."""
        from botocore.config import Config  # noqa: PLC0415 - only in functions that call AWS

        return Config(
            connect_timeout=self.connect_seconds,
            read_timeout=self.read_seconds,
            retries={"mode": "standard", "total_max_attempts": 1},
            max_pool_connections=CONNECTIONS,
        )


PATIENT = Patience(connect_seconds=2, read_seconds=5, longest_seconds=16)
"""Of whoever has a request to answer: a lost answer costs a second try and not a tick."""

BRISK = Patience(connect_seconds=1, read_seconds=2, longest_seconds=7)
"""Of an executor, who has leases to keep and asks again as long as it has them; and of the authorizer."""


@dataclass(eq=False)
class Invocation:
    """Until when AWS may be asked (ms, monotonic). Lambda gives a process one invocation at a time."""

    ends_at: float = math.inf


_PRESENT = Invocation()


def _now() -> int:
    return time.monotonic_ns() // 1_000_000


@dataclass(frozen=True)
class Asker:
    """Asks AWS with one patience. The clock (ms), waiting (seconds) and randomness (from 0 to 1) are arguments."""

    patience: Patience
    invocation: Invocation = _PRESENT
    now: Callable[[], int] = _now
    sleep: Callable[[float], None] = time.sleep
    draw: Callable[[], float] = random.random

    def deadline(self) -> float:
        """Return until when (ms) all that belongs to one request may be asked, which begins now."""
        return min(self.now() + self.patience.longest_seconds * SECOND_MS, self.invocation.ends_at)

    def ask(self, question: Callable[[], _Answer], until: float | None = None) -> _Answer:
        """Ask a question until it is answered, but not after a deadline.

        A question that is answered in part notes the answers and raises UnavailableError: it is asked for the rest.
        Raises UnavailableError, and the error of a wrong question at once.
        """
        until = self.deadline() if until is None else until
        if not self._has_time_after(0, until):
            raise UnavailableError("there is no time left to ask")
        for longest_seconds in PAUSES_SECONDS:
            pause_seconds = longest_seconds * self.draw()
            try:
                return _answer(question)
            except UnavailableError:
                if not self._has_time_after(pause_seconds, until):
                    raise
            self.sleep(pause_seconds)
        return _answer(question)

    def ask_once(self, question: Callable[[], _Answer]) -> _Answer:
        """Ask a question that must not be repeated. Raises UnavailableError, and the error of a wrong question."""
        if not self._has_time_after(0, self.deadline()):
            raise UnavailableError("there is no time left to ask")
        return _answer(question)

    def _has_time_after(self, pause_seconds: float, until: float) -> bool:
        return self.now() + (pause_seconds + self.patience.try_seconds) * SECOND_MS <= until


def is_unknown(code: str) -> bool:
    """Say whether the code of an error tells neither that a request was done nor that it was refused."""
    return any(word in code for word in _UNKNOWN)


def _answer(question: Callable[[], _Answer]) -> _Answer:
    """Raise UnavailableError where AWS did not say what became of a request; a wrong request stays an error."""
    try:
        return question()
    except Exception as error:
        if _is_no_answer(error):
            raise UnavailableError(str(error)) from error
        raise


def _is_no_answer(error: Exception) -> bool:
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - slow, and only where something failed

    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
        return status >= 500 or status == _TOO_MANY or is_unknown(error.response.get("Error", {}).get("Code", ""))
    return isinstance(error, BotoCoreError)


PATIENTLY, BRISKLY = Asker(PATIENT), Asker(BRISK)


class Timed(Protocol):
    """What is taken from Lambda's context."""

    def get_remaining_time_in_millis(self) -> int:
        """Return how long the function has before it is ended."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Let nothing be asked of AWS that might not be answered in so long."""
    _PRESENT.ends_at = _now() + seconds * SECOND_MS
    try:
        yield
    finally:
        _PRESENT.ends_at = math.inf


def in_time(handler: Callable[[_Event, _Timed], _Answer]) -> Callable[[_Event, _Timed], _Answer]:
    """Let nothing that a handler asks of AWS outlast its invocation."""

    @wraps(handler)
    def bounded(event: _Event, context: _Timed) -> _Answer:
        with within(context.get_remaining_time_in_millis() / SECOND_MS - ROOM_SECONDS):
            return handler(event, context)

    return bounded
