"""Sends calls, and sends those again that may be repeated."""

import random
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from timeball.client.calls import Call, Query, Reply, address_of, content_of, headers_of, outcome_of, reply_of
from timeball.client.clocks import AsyncClock
from timeball.client.connection import Connection, load_httpx
from timeball.client.errors import Unavailable
from timeball.client.retries import Outcome, is_repeatable, wait_before_next

if TYPE_CHECKING:
    import httpx


class AsyncSender:
    """The connection of a client to its API."""

    def __init__(
        self, connection: Connection, clock: AsyncClock, transport: "httpx.AsyncBaseTransport | None" = None
    ) -> None:
        self._connection = connection
        self.clock = clock
        self._httpx = load_httpx()
        self._http: httpx.AsyncClient = self._httpx.AsyncClient(
            transport=transport, timeout=connection.timeout_seconds, follow_redirects=False
        )

    @property
    def url(self) -> str:
        """The address of the API, without a slash at its end."""
        return self._connection.url

    async def send(self, call: Call) -> Reply:
        """Send a call until it is answered for good; raise an ApiError for an answer that is not a success."""
        repeatable = is_repeatable(call.method, call.path, call.body)
        idempotency_key = secrets.token_hex(16) if call.method == "POST" and repeatable else None
        headers, content = headers_of(call, self._connection.key, idempotency_key), content_of(call)
        address, tries = address_of(self.url, call), 0
        response: httpx.Response | None
        while True:
            tries += 1
            try:
                response = await self._http.request(call.method, address, headers=headers, content=content)
                outcome, why = outcome_of(response, self.clock.now()), ""
            except (self._httpx.LocalProtocolError, self._httpx.UnsupportedProtocol):
                # Without the cause, which may quote a header.
                raise ValueError("The request cannot be sent: a header or the address has a bad character.") from None
            except self._httpx.TransportError as lost:
                response, why = None, type(lost).__name__
                outcome = Outcome(None, was_sent=not isinstance(lost, self._never_sent()))
            wait = wait_before_next(outcome, tries, repeatable=repeatable, draw=random.random())  # noqa: S311
            if wait is not None:
                await self.clock.sleep(wait)
            elif response is None:
                raise Unavailable(0, {"detail": f"{self.url} did not answer ({why}, {tries} tries)."}) from None
            else:
                return reply_of(response, outcome)

    async def json(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:  # noqa: ANN401 - an answer is whatever JSON it is
        """Send a call, and return the JSON of its answer."""
        return (await self.send(Call(method, path, body, query or {}, headers or {}))).body

    def _never_sent(self) -> tuple[type[Exception], ...]:
        """Return the errors after which the API has certainly not seen the request."""
        return (self._httpx.ConnectError, self._httpx.ConnectTimeout, self._httpx.PoolTimeout)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()
