"""How long AWS is asked, and how often: the one place that repeats requests, because boto3 asks once.

A request that was throttled, or got no answer, is repeated after a pause. The pause is drawn at random from a range
that doubles (exponential backoff with full jitter), so that requests that were refused together do not come back
together.

Several requests at once run in threads, except for the first, which the caller's thread makes meanwhile: handing a
request to a thread takes more processor time than signing it, and most lists have one request.

Invariant: no request outlasts its patience or its invocation, because a try that might is not begun. The result of a
request without an answer by then is unknown.
"""

import math
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
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
"""How much of its time an invocation keeps to report what happened, once it asks no more."""

PAUSES_SECONDS = (0.05, 0.1, 0.2, 0.4, 0.8)
"""The longest that each pause may be: six tries in less than two seconds.

Longer pauses would not help: if rows are throttled for good, the caller finds out by asking for fewer, again and again;
and if a table is throttled, every caller comes back by itself, a scan in a second.
"""

_UNKNOWN = ("Throttl", "TooManyRequests", "Exceeded", "Conflict", "Timeout", "InternalServer")
"""Parts of the codes of errors that say nothing about the request itself, or about a statement of a batch."""

_TOO_OFTEN = ("Throttl", "TooManyRequests", "ThroughputExceeded", "LimitExceeded", "unread")
"""Parts of the texts of errors that say that requests were refused because there were too many."""

_TOO_MANY = 429
"""The status by which Lambda says that it runs at its limit: it will accept the same request later."""


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
        """Return the configuration with which a boto3 client asks once, and waits this long."""
        from botocore.config import Config  # noqa: PLC0415 - only in functions that call AWS

        return Config(
            connect_timeout=self.connect_seconds,
            read_timeout=self.read_seconds,
            retries={"mode": "standard", "total_max_attempts": 1},
            max_pool_connections=CONNECTIONS,
        )


class Refusals:
    """How many requests AWS has refused to this process because there were too many."""

    def __init__(self) -> None:
        self._lock, self._count = threading.Lock(), 0

    def note(self, error: Exception) -> None:
        """Count a try without an answer, if its error says that there were too many."""
        if any(word in str(error) for word in _TOO_OFTEN):
            with self._lock:
                self._count += 1

    def take(self) -> int:
        """Return how many there were since the last time."""
        with self._lock:
            count, self._count = self._count, 0
        return count


REFUSALS = Refusals()

PATIENT = Patience(connect_seconds=2, read_seconds=5, longest_seconds=16)
"""For callers that have a request to answer: a lost answer costs a second try and not a tick."""

BRISK = Patience(connect_seconds=1, read_seconds=2, longest_seconds=7)
"""For the authorizer, and for an executor, which has leases to keep and asks again as long as it has them."""


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
        """Return until when (ms) a request that begins now may last."""
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
            except UnavailableError as error:
                REFUSALS.note(error)
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
    """Return whether the code of an error leaves open whether a request was done or refused."""
    return any(word in code for word in _UNKNOWN)


def _answer(question: Callable[[], _Answer]) -> _Answer:
    """Raise UnavailableError if AWS did not say what became of a request; a wrong request keeps its error."""
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
    """The part of Lambda's context that is used here."""

    def get_remaining_time_in_millis(self) -> int:
        """Return how long the function has before it is ended."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Forbid requests to AWS that might not be answered within so many seconds."""
    _PRESENT.ends_at = _now() + seconds * SECOND_MS
    try:
        yield
    finally:
        _PRESENT.ends_at = math.inf


def in_time(handler: Callable[[_Event, _Timed], _Answer]) -> Callable[[_Event, _Timed], _Answer]:
    """Keep all requests of a handler to AWS within its invocation."""

    @wraps(handler)
    def bounded(event: _Event, context: _Timed) -> _Answer:
        with within(context.get_remaining_time_in_millis() / SECOND_MS - ROOM_SECONDS):
            return handler(event, context)

    return bounded


_Asked = TypeVar("_Asked")


def side_by_side(threads: Executor, ask: Callable[[_Asked], _Answer], asked: Sequence[_Asked]) -> list[_Answer]:
    """Ask for each; return the answers in order, or raise the first error among them."""
    if not asked:
        return []
    others = threads.map(ask, asked[1:]) if len(asked) > 1 else ()  # these begin now
    return [ask(asked[0]), *others]
