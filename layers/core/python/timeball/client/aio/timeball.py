"""The client itself."""

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from timeball.client.aio.pages import AsyncPages
from timeball.client.aio.sender import AsyncSender
from timeball.client.calls import Call, Query, Reply
from timeball.client.clocks import AsyncClock, AsyncMachineClock
from timeball.client.connection import TIMEOUT_SECONDS, connection_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx


class AsyncTimeball:
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
        transport: "httpx.AsyncBaseTransport | None" = None,
        clock: AsyncClock | None = None,
    ) -> None:
        connection = connection_of(url, key, profile, timeout)
        self._sender = AsyncSender(connection, clock or AsyncMachineClock(), transport)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    @property
    def url(self) -> str:
        """The address of the API, without a slash at its end."""
        return self._sender.url

    async def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Query | None = None,
        headers: "Mapping[str, str] | None" = None,
    ) -> Any:  # noqa: ANN401 - an answer is whatever JSON it is
        """Send any request of the API, and return the JSON of its answer; None if it has no body."""
        return (await self.send(method, path, body, query=query, headers=headers)).body

    async def send(
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
        return await self._sender.send(Call(method.upper(), path, body, query or {}, headers or {}))

    def pages(self, path: str, *, query: Query | None = None) -> AsyncPages[Any]:
        """Return any list of the API, which pages by itself; its items are JSON."""
        return AsyncPages(self._sender, Call("GET", path, query=query or {}), lambda item: item)

    async def close(self) -> None:
        """Close the connections."""
        await self._sender.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
