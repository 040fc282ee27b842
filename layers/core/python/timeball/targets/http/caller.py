"""Calls webhooks: one connection, one request, one answer, whatever the target does.

Invariants: a socket is made only for an address that the rules just passed; a request is sent at most once.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace, TracebackType
from typing import Any, Self

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from timeball.ports.clock import Clock
from timeball.ports.target import Answer, Call
from timeball.targets.http.addresses import AddressRules, ForbiddenAddressError
from timeball.targets.http.intake import WIRE_BYTES, CountedSocket, Intake, Turns, TurnsConnector, begin_intake
from timeball.targets.http.request import UncallableError, headers_of, parse_method, parse_url
from timeball.targets.http.verdict import answered, unanswered

BODY_BYTES = 16 * 1024
"""How much of an answer is read, and kept; the rest is never taken off the wire."""

_LOOKUP_THREADS = 32

Lookup = Callable[[str, int], Sequence[str]]
"""Returns the addresses of a host for a port, as text; raises OSError if there are none. It may block."""


class _BrokenOffError(Exception):
    """The target ended the connection after it was made and before it answered."""


class _Departure:
    """The moment (ms) at which one call's request went onto the wire."""

    at: int | None = None


class HttpCaller:
    """Calls webhooks, any number at once, in one event loop: `async with HttpCaller(clock, rules)`.

    `trust`: how certificates are verified, if not as the system does.
    """

    def __init__(
        self, clock: Clock, rules: AddressRules, lookup: Lookup | None = None, trust: ssl.SSLContext | None = None
    ) -> None:
        self._clock = clock
        self._rules = rules
        self._lookup = lookup or _look_up
        self._trust = trust
        self._turns = Turns()
        self._threads: ThreadPoolExecutor | None = None
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        """Make ready to call, in the running loop."""
        # Threads of our own: slow name servers of one tenant must not keep the store from its threads.
        self._threads = ThreadPoolExecutor(_LOOKUP_THREADS, thread_name_prefix="lookup")
        connector = TurnsConnector(
            resolver=_CheckedResolver(self._lookup, self._rules, self._threads),
            socket_factory=self._open_socket,
            ssl=self._trust or True,
            use_dns_cache=False,
            limit=0,
            # A kept connection may be dead by the next call, which then fails for no fault of its target; and
            # it could carry the rest of one tenant's answer into another's.
            force_close=True,
        )
        trace = aiohttp.TraceConfig()
        trace.on_connection_create_end.append(self._note_departure)
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            trust_env=False,
            auto_decompress=False,
            # So much that aiohttp itself never pauses: the intake does, and aiohttp would not know that
            # what it has put off came before the connection's end.
            read_bufsize=WIRE_BYTES,
            trace_configs=[trace],
            middlewares=[_send_once],
        )

    async def close(self) -> None:
        """End what is still open. Name look-ups that hang are left behind."""
        if self._session is not None:
            await self._session.close()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def call(self, call: Call) -> Answer:
        """Send one request and return what came of it, at the latest when the call's timeout is over."""
        if self._session is None:
            raise RuntimeError("The caller is not open.")
        departure = _Departure()
        intake = begin_intake(self._turns)
        deadline = asyncio.timeout(call.timeout_seconds)
        host = "the target"
        try:
            async with deadline:
                url = parse_url(call.work.target.url)
                host = (url.host or host)[:253]
                answer = await self._exchange(self._session, call, url, departure, intake)
        except Exception as error:  # noqa: BLE001 -- what a hostile target provokes is an answer, never a crash
            late = deadline.expired()
            sentence = _late(host, call.timeout_seconds, departure) if late else _sentence(error, host)
            answer = unanswered(call, departure.at, self._clock.now(), sentence, timed_out=late)
        finally:
            intake.close()
        if intake.is_cut:  # which an answer that ends with its connection does not show
            return unanswered(call, departure.at, self._clock.now(), _FLOOD.format(host=host))
        return answer

    async def _exchange(
        self, session: aiohttp.ClientSession, call: Call, url: URL, departure: _Departure, intake: Intake
    ) -> Answer:
        payload = call.work.payload
        request = session.request(
            parse_method(call.work.target.method),
            url,
            data=None if payload is None else payload.encode(),
            headers=headers_of(call, self._clock.now()),
            skip_auto_headers=("Content-Type",),
            allow_redirects=False,
            trace_request_ctx=departure,
        )
        async with request as response:
            intake.has_head = True
            body = await _read(response)
            response.close()
            retry_after = response.headers.get("Retry-After", "")
            return answered(call, departure.at, self._clock.now(), response.status, body, retry_after)

    async def _note_departure(
        self, _: aiohttp.ClientSession, context: SimpleNamespace, __: aiohttp.TraceConnectionCreateEndParams
    ) -> None:
        context.trace_request_ctx.at = self._clock.now()

    def _open_socket(self, where: tuple[Any, ...]) -> socket.socket:
        # Addresses written in the url never meet the resolver: only here does every connection pass.
        family, kind, protocol, _, (address, port, *_) = where
        self._rules.check(address, port)
        return CountedSocket(family, kind, protocol)


class _CheckedResolver(AbstractResolver):
    """Resolves a host to addresses that are all open to webhooks, or to none."""

    def __init__(self, lookup: Lookup, rules: AddressRules, threads: ThreadPoolExecutor) -> None:
        self._lookup = lookup
        self._rules = rules
        self._threads = threads

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,  # noqa: ARG002 -- the connector always asks for both
    ) -> list[ResolveResult]:
        """Return the addresses of a host; raises ForbiddenAddressError if a single one is not open."""
        loop = asyncio.get_running_loop()
        addresses = await loop.run_in_executor(self._threads, self._lookup, host, port)
        for address in addresses:
            self._rules.check(address, port)
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address in addresses
        ]

    async def close(self) -> None:
        """Do nothing: the threads are the caller's."""


def _look_up(host: str, port: int) -> Sequence[str]:
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return [str(info[4][0]) for info in infos]


async def _send_once(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Keep the session from sending an idempotent method again: only the engine decides on a retry."""
    try:
        return await send(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _BrokenOffError from error


async def _read(response: aiohttp.ClientResponse) -> str:
    """Return the first BODY_BYTES of an answer as text that is no longer than that in UTF-8 either."""
    body = bytearray()
    while len(body) < BODY_BYTES and (chunk := await response.content.read(BODY_BYTES - len(body))):
        body += chunk
    if response.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        return ""  # it was not asked for: noise to a reader, or a bomb to whoever unpacks it
    return body.decode("utf-8", "replace").encode()[:BODY_BYTES].decode("utf-8", "ignore")


_FLOOD = "{host} sent more than 256 KB around its answer, or more than 32 KB before it."

_SENTENCES: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
    (
        ForbiddenAddressError,
        "{host} leads to an address that webhooks may not call: private, local or reserved.",
    ),
    (ConnectionRefusedError, "{host} refused the connection."),
    (aiohttp.ClientConnectorDNSError, "The name {host} could not be resolved."),
    (aiohttp.ClientConnectorCertificateError, "The TLS certificate of {host} could not be verified."),
    (aiohttp.ClientConnectorSSLError, "No TLS connection to {host} could be agreed on."),
    (aiohttp.ClientConnectorError, "No connection to {host} could be made."),
    (_BrokenOffError, "{host} closed the connection before it answered."),
    (
        (aiohttp.ClientPayloadError, aiohttp.ClientConnectionError),
        "{host} closed the connection in the middle of its answer, or broke the rules of HTTP there.",
    ),
    (aiohttp.ClientResponseError, "What {host} answered is not HTTP, or its headers are too large."),
    ((aiohttp.InvalidURL, UnicodeError), "The target's url is malformed."),
)
"""What a person reads: the first row that fits the error. No header, no payload, no address behind a name."""


def _sentence(error: Exception, host: str) -> str:
    if isinstance(error, UncallableError):
        return str(error)
    cause = getattr(error, "os_error", error)
    for kinds, sentence in _SENTENCES:
        if isinstance(cause, kinds) or isinstance(error, kinds):
            return sentence.format(host=host)
    return f"The call of {host} failed ({type(error).__name__})."


def _late(host: str, timeout_seconds: float, departure: _Departure) -> str:
    if departure.at is None:
        return f"No connection to {host} came about within {timeout_seconds:g} s."
    return f"{host} did not answer in full within {timeout_seconds:g} s."
