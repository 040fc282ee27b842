# Generated from aio/timeball.py by `python -m docs.client`: change that instead.
"""The client itself."""

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from timeball.client.calls import Call, Query, Reply
from timeball.client.clocks import Clock, MachineClock
from timeball.client.connection import TIMEOUT_SECONDS, connection_of
from timeball.client.sync.pages import Pages
from timeball.client.sync.sender import Sender

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx


class Timeball:
    """A client of a Timeball.

    Without arguments it is the Timeball of `TIMEBALL_URL` and `TIMEBALL_KEY`, or of the profile that `timeball login`
    has kept. A `transport` of httpx replaces the network, a `clock` the waits.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        profile: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
        transport: "httpx.BaseTransport | None" = None,
        clock: Clock | None = None,
    ) -> None:
        connection = connection_of(url, key, profile, timeout)
        self._sender = Sender(connection, clock or MachineClock(), transport)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    @property
    def url(self) -> str:
        """The address of the API, without a slash at its end."""
        return self._sender.url

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Query | None = None,
        headers: "Mapping[str, str] | None" = None,
    ) -> Any:  # noqa: ANN401 - an answer is whatever JSON it is
        """Send any request of the API, and return the JSON of its answer; None if it has no body."""
        return (self.send(method, path, body, query=query, headers=headers)).body

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Query | None = None,
        headers: "Mapping[str, str] | None" = None,
    ) -> Reply:
        """Send any request of the API, and return its answer with status and headers."""
        if not path.startswith("/"):
            raise ValueError(f"The path {path!r} begins without a slash: give one, such as /v1/jobs.")
        return self._sender.send(Call(method.upper(), path, body, query or {}, headers or {}))

    def pages(self, path: str, *, query: Query | None = None) -> Pages[Any]:
        """Return any list of the API, which pages by itself; its items are JSON."""
        return Pages(self._sender, Call("GET", path, query=query or {}), lambda item: item)

    def close(self) -> None:
        """Close the connections."""
        self._sender.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
