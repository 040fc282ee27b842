"""Canned answers: what stands for a target, and in which order."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

from timeball.rehearsal.calls import Called
from timeball.rehearsal.errors import RehearsalError

if TYPE_CHECKING:
    import httpx


@dataclass(frozen=True)
class Canned:
    """An answer that a test has written down."""

    status: int = 200
    """The status."""
    body: Any = ""
    """The body: text as it is, and anything else as JSON."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """The headers; Timeball reads `Retry-After`."""
    takes_seconds: float = 0
    """How much virtual time passes between the call and the answer."""

    def __post_init__(self) -> None:
        if not 100 <= self.status <= 599:
            raise RehearsalError(f"{self.status} is no status of HTTP: give one such as 200 or 503.")

    @property
    def text(self) -> str:
        """The body as it is sent."""
        if isinstance(self.body, bytes):
            return self.body.decode("utf-8", "replace")
        return self.body if isinstance(self.body, str) else json.dumps(self.body)


@dataclass(frozen=True)
class ReportsLater:
    """A 202 to a job with the completion `callback`, and a report some virtual time later."""

    after_seconds: float
    """After how long the target reports."""
    result: Any = None
    """The result of a run that succeeds."""
    error: str | None = None
    """Why the run fails; None: it succeeds."""
    heartbeat_seconds: float | None = None
    """How often the target sends a heartbeat until then; None: never."""


@dataclass(frozen=True)
class NoAnswer:
    """No answer comes: the connection is refused, or the call lasts until its timeout."""

    times_out: bool = False
    """The target accepts the call, and is silent."""


Standing: TypeAlias = Canned | ReportsLater | NoAnswer
"""What becomes of one call."""

Answering: TypeAlias = (
    "int | str | Mapping[str, Any] | Standing | Callable[[Called], Answering | None] | httpx.BaseTransport"
)
"""One answer: a status, a body, a value of this module, a function of the call, or a transport of httpx."""


@dataclass
class _Script:
    """The answers of one target: one after the other, and the last one from then on."""

    answers: "Sequence[Answering]"
    given: int = 0

    def next(self) -> "Answering":
        self.given += 1
        return self.answers[min(self.given, len(self.answers)) - 1]


@dataclass(frozen=True)
class RealTarget:
    """A receiver on this machine, and the beginning of the URL for which it stands."""

    url: str
    instead_of: str

    def url_of(self, url: str) -> str:
        """Return the URL that is called for a job's URL."""
        return self.url + url[len(self.instead_of) :]


class Answers:
    """All targets that a rehearsal can call: the longest beginning of a URL counts."""

    def __init__(self) -> None:
        self._known: dict[str, _Script | RealTarget] = {}

    def put(self, target: str, answers: "Answering | Sequence[Answering]") -> None:
        """Give a URL or an ARN its answers, in place of earlier ones."""
        many: list[Any] = [*answers] if isinstance(answers, list | tuple) else [answers]
        if not many:
            raise RehearsalError(f"The list of answers of {target} is empty: give at least one, such as 200.")
        if not target.startswith(("http://", "https://", "arn:")):
            raise RehearsalError(f"{target!r} is no target: give a URL with https:// or http://, or an ARN.")
        self._known[target] = _Script(many)

    def put_real(self, real: RealTarget) -> None:
        """Let calls of a URL go to a receiver."""
        self._known[real.instead_of] = real

    def of(self, target: str) -> "Answering | RealTarget | None":
        """Return what stands for the next call of a target; None: nothing."""
        fitting = [one for one in self._known if _covers(one, target)]
        found = self._known[max(fitting, key=len)] if fitting else None
        return found.next() if isinstance(found, _Script) else found


def _covers(known: str, target: str) -> bool:
    """Return whether a target is the known one, or below it."""
    if not target.startswith(known):
        return False
    return len(target) == len(known) or known.endswith("/") or target[len(known)] in "/?"


def standing_for(
    answer: Any,  # noqa: ANN401 - a test may give anything
    call: Called,
    send: "Callable[[httpx.BaseTransport, Called], Standing]",
) -> Standing:
    """Return what becomes of a call by its answer; functions are called, and `send` asks a transport."""
    match answer:
        case Canned() | ReportsLater() | NoAnswer():
            return answer
        case bool():
            raise RehearsalError(f"{answer} is no answer: give a status, such as 200.")
        case int():
            return Canned(answer)
        case str():
            return Canned(body=answer)
        case Mapping():
            return Canned(body=dict(answer))
        case None:
            return Canned()
    if hasattr(answer, "handle_request"):
        return send(answer, call)
    if callable(answer):
        return standing_for(answer(call) or Canned(), call, send)
    raise RehearsalError(f"{answer!r} is no answer: give a status, a body, a value such as Canned(…), or a function.")


def origin_of(url: str) -> str:
    """Return a URL without its path, for a sentence."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else url
