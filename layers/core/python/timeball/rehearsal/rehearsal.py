"""A rehearsal: one's own jobs on the real API and engine, in memory, under a virtual clock.

Time passes only in `run_until`, `run_for`, and where the client waits. A rehearsal with the same inputs always has the
same calls.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Self

from timeball.ports.errors import UnavailableError
from timeball.ports.target import Trial, Tried
from timeball.rehearsal.answers import Answering, Answers, RealTarget
from timeball.rehearsal.caller import RehearsalCaller
from timeball.rehearsal.calls import Calls
from timeball.rehearsal.errors import RehearsalError
from timeball.rehearsal.in_memory import Event, InMemory
from timeball.rehearsal.loopback import loopback_url
from timeball.rehearsal.moments import instant_of, milliseconds_of, moment_of, seconds_in_ms
from timeball.rehearsal.transport import AsyncRehearsalClock, MemoryTransport, RehearsalClock
from timeball.targets.calls import Trace, make_trial
from timeball.targets.http.request import parse_key
from timeball.targets.http.signing_keys import KeyRing
from timeball.testing.memory_services import MemorySecrets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from timeball.client import AsyncTimeball, Timeball

START: Final = "2027-01-01T00:00Z"
"""When a rehearsal begins, unless its test says otherwise."""

URL: Final = "https://timeball.test"
"""The address of the API for the client: no request leaves this process."""

_SECRETS: Final = "timeball/"
"""The prefix of the names of secrets, followed by the tenant."""


class Rehearsal:
    """A Timeball in memory, and the targets of its jobs.

    `start`: when the clock starts, as text or a datetime; a time without an offset is of the zone `tz`. `tenant`: the
    tenant of the client, which the names of secrets contain.
    """

    def __init__(self, start: str | datetime = START, tz: str = "UTC", tenant: str = "acme") -> None:
        self._zone = tz
        secrets, answers = MemorySecrets(), Answers()
        trials = _Trials(self)
        self._memory = InMemory(instant_of(start, tz), [tenant], trials=trials, at_each_step=self._check)
        self._secrets, self._answers = secrets, answers
        self.caller = RehearsalCaller(self._memory, answers, KeyRing(secrets, _SECRETS, self._memory.clock))
        self._memory.caller = self.caller

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the rehearsal."""
        self._memory.close()

    @property
    def now(self) -> datetime:
        """The virtual time, in UTC."""
        return moment_of(self._memory.clock.now())

    @property
    def url(self) -> str:
        """The address of the API, for a client with this rehearsal's `transport`."""
        return URL

    @property
    def key(self) -> str:
        """The API key of an admin."""
        return self._memory.keys["admin"]

    @cached_property
    def transport(self) -> MemoryTransport:
        """A transport of httpx that answers from the API in memory."""
        return MemoryTransport(self._handle)

    @cached_property
    def client(self) -> "Timeball":
        """The real client of the API in memory, with the key of an admin; where it waits, virtual time passes."""
        return self.client_of(self.key)

    def client_of(self, key: str) -> "Timeball":
        """Return a client with another key, such as one of a viewer."""
        from timeball.client import Timeball  # noqa: PLC0415 - a rehearsal can do without it

        return Timeball(self.url, key, transport=self.transport, clock=RehearsalClock(self._memory, self._pass))

    @cached_property
    def async_client(self) -> "AsyncTimeball":
        """The same client for code with an event loop."""
        from timeball.client import AsyncTimeball  # noqa: PLC0415 - a rehearsal can do without it

        clock = AsyncRehearsalClock(self._memory, self._pass)
        return AsyncTimeball(self.url, self.key, transport=self.transport, clock=clock)

    @property
    def calls(self) -> Calls:
        """All calls of targets so far."""
        return Calls(self.caller.calls)

    def answers(self, target: str, answers: "Answering | Sequence[Answering]") -> None:
        """Let a URL and all below it, or an ARN, answer: the answers of a list one after the other, then the last.

        An answer is a status, a body, a `Canned`, a `ReportsLater`, a `NoAnswer`, a function of the call that returns
        one of these, or a transport of httpx. The longest URL that fits counts.
        """
        self._answers.put(target, answers)

    def calls_for_real(self, url: str, instead_of: str | None = None) -> None:
        """Call a receiver on this machine over HTTP: for its own URL, or for the beginning of another.

        The virtual clock stands while a call is under way, and each call says in `Timeball-Now` what the clock shows.
        """
        loopback_url(url)
        if instead_of is not None and instead_of.endswith("/") != url.endswith("/"):
            raise RehearsalError("Let both URLs end in a slash, or neither.")
        self._answers.put_real(RealTarget(url, instead_of or url))

    def secret(self, name: str, value: str) -> None:
        """Give a secret that signs webhooks its value, which is `whsec_` and 24 to 64 bytes in base64."""
        if parse_key(value) is None:
            raise RehearsalError(f"The value of {name} is no key: give whsec_, and 24 to 64 bytes in base64.")
        self._secrets.put(name, value)

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        """Call a function when so much virtual time has passed, while the rehearsal runs."""
        self._memory.engine.at(self._memory.clock.now() + seconds_in_ms(seconds), lambda: self._act(act))

    def run_until(self, when: str | datetime, tz: str | None = None) -> Calls:
        """Let time pass until an instant, with everything that is due at it; return the calls of this stretch.

        A time without an offset is of the zone `tz`, or of that of the rehearsal.
        """
        at = instant_of(when, tz or self._zone)
        if at < self._memory.clock.now():
            raise RehearsalError(f"{when} is over: the clock of the rehearsal stands at {self.now.isoformat()}.")
        return self._through(at)

    def run_for(self, duration: timedelta | None = None, **parts: float) -> Calls:
        """Let time pass, such as `days=1, hours=6` or a timedelta; return the calls of this stretch."""
        try:
            length = timedelta(**parts) if duration is None else duration
        except TypeError:
            raise RehearsalError(f"Give a timedelta, or its parts, such as hours=6, and not {parts!r}.") from None
        return self._through(self._memory.clock.now() + milliseconds_of(length))

    def _pass(self, seconds: float) -> None:
        self._through(self._memory.clock.now() + seconds_in_ms(seconds))

    def _through(self, at: int) -> Calls:
        if self._memory.is_at_work:
            raise RehearsalError("Time passes already: code that a target or `after` runs cannot let more of it pass.")
        begun = len(self.caller.calls)
        self._memory.through(at)
        self._check()
        return Calls(self.caller.calls[begun:])

    def _act(self, act: Callable[[], object]) -> None:
        with self._memory.let_go():
            act()

    def _handle(self, event: Event) -> "Mapping[str, Any]":
        answer = self._memory.handle(event)
        if not self._memory.is_at_work:
            self._check()  # a trial has called a target
        return answer

    def _check(self) -> None:
        """Raise what ended the rehearsal, once."""
        failure, self.caller.failure = self.caller.failure, None
        if failure is not None:
            raise failure

    def try_target(self, trial: Trial) -> Tried:
        """Call the target of a trial once. Raises UnavailableError while the engine is at work."""
        if self._memory.is_at_work:
            raise UnavailableError("no trial is made while the engine is at work")
        making = make_trial(self.caller, Trace(), trial, self._memory.clock.now())
        return self._memory.run(making)


class _Trials:
    """The trials of a rehearsal."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self._rehearsal = rehearsal

    def make(self, trial: Trial) -> Tried:
        """Call the target once."""
        return self._rehearsal.try_target(trial)
