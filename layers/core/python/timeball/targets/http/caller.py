"""Calls webhooks: one connection, one request, one answer, whatever the target does.

Invariants: a socket is made only for an address that the rules just passed; a request is sent at most once.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from timeball.domain.model.ids import RunId
from timeball.domain.model.target import HttpTarget
from timeball.domain.sharing.places import PLACES
from timeball.domain.templates.template import TemplateError
from timeball.ports.clock import Clock
from timeball.ports.target import Answer, Call
from timeball.targets.answers import unanswered
from timeball.targets.http.addresses import AddressRules, ForbiddenAddressError
from timeball.targets.http.intake import WIRE_BYTES, CountedSocket, Intake, Turns, TurnsConnector, begin_intake
from timeball.targets.http.keys import KeyRing, Keys, NoKeyError, Signing
from timeball.targets.http.request import Request, UncallableError, parse_url, request_of, webhook_of
from timeball.targets.http.shown import Showing
from timeball.targets.http.verdict import answered, unsent
from timeball.targets.witness import Witness

BODY_BYTES = 16 * 1024
"""How much of an answer is read, and kept; the rest is never taken off the wire."""

_LOOKUP_THREADS = 2 * PLACES
"""One for each call that is under way, and as many for look-ups that their calls have not waited for."""

Sign = Callable[[RunId, int], str]
"""Returns the token of an attempt. It may block."""

Lookup = Callable[[str, int], Sequence[str]]
"""Returns the addresses of a host for a port, as text; raises OSError if there are none. It may block."""


class _BrokenOffError(Exception):
    """The target ended the connection after it was made and before it answered."""


def _look_up(host: str, port: int) -> Sequence[str]:
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return [str(info[4][0]) for info in infos]


@asynccontextmanager
async def http_caller(
    clock: Clock,
    rules: AddressRules,
    lookup: Lookup | None = None,
    trust: ssl.SSLContext | None = None,
    sign: Sign | None = None,
    ring: KeyRing | None = None,
    witness: Witness | None = None,
) -> AsyncIterator["HttpCaller"]:
    """Open a caller of webhooks in the running loop. Name look-ups that hang at its end are left behind.

    `trust`: how certificates are verified, if not as the system does. `sign`: what makes the token of an attempt whose
    target may report on it. `ring`: the keys that webhooks are signed with; without it none that asks for one is sent.
    `witness`: who is told of the one call that is made.
    """
    # Threads of our own: slow name servers of one tenant must not keep the store from its threads.
    threads = ThreadPoolExecutor(_LOOKUP_THREADS, thread_name_prefix="lookup")
    door = _Door(lookup or _look_up, rules, threads)
    connector = TurnsConnector(
        resolver=door,
        socket_factory=door.open_socket,
        ssl=trust or True,
        use_dns_cache=False,
        limit=0,
        # A kept connection may be dead by the next call, which then fails for no fault of its target; and it could
        # carry the rest of one tenant's answer into another's.
        force_close=True,
    )
    session = aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
        trust_env=False,
        auto_decompress=False,
        # So much that aiohttp itself never pauses: the intake does, and aiohttp would not know that what it has put
        # off came before the connection's end.
        read_bufsize=WIRE_BYTES,
        middlewares=[_send_once],
    )
    try:
        async with session:
            yield HttpCaller(
                clock,
                session,
                sign,
                None if ring is None else Signing(ring),
                None if witness is None else Showing(witness),
            )
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


class HttpCaller:
    """Calls webhooks, any number at once, in one event loop."""

    def __init__(
        self,
        clock: Clock,
        session: aiohttp.ClientSession,
        sign: Sign | None = None,
        signing: Signing | None = None,
        showing: Showing | None = None,
    ) -> None:
        self._clock = clock
        self._session = session
        self._sign = sign
        self._signing = signing
        self._showing = showing
        self._turns = Turns()

    async def call(self, call: Call) -> Answer:
        """Send one request and return what came of it, at the latest when the call's timeout is over."""
        intake = begin_intake(self._turns, self._clock)
        deadline = asyncio.timeout(call.timeout_seconds)
        host = "the target"
        try:
            async with deadline:
                target = webhook_of(call.work)
                host = (parse_url(target.url).host or host)[:253]
                answer = await self._exchange(call, await self._request(call, target), intake)
        except TemplateError as why:  # the same payload would lack it again
            answer = unsent(self._clock.now(), str(why), may_retry=False)
        except NoKeyError as why:  # nothing has left, and somebody may mend the secret meanwhile
            answer = unsent(self._clock.now(), str(why), may_retry=True)
        except Exception as error:  # noqa: BLE001 -- what a hostile target provokes is an answer, never a crash
            late = deadline.expired()
            sentence = _late(host, call.timeout_seconds, intake) if late else _sentence(error, host)
            answer = unanswered(call, intake.called_at, self._clock.now(), sentence, timed_out=late)
        finally:
            intake.close()
            if self._showing is not None:
                self._showing.ends(intake, self._clock.now())
        if intake.is_cut:  # which an answer that ends with its connection does not show
            return unanswered(call, intake.called_at, self._clock.now(), _FLOOD.format(host=host))
        return answer

    async def _request(self, call: Call, target: HttpTarget) -> Request:
        """Return what is sent; what of it is secret is read now."""
        token: str | None = None
        keys: Keys = ()
        if call.takes_report and self._sign is not None:  # in a thread: the first of a process reads the secret
            token = await asyncio.to_thread(self._sign, call.run, call.attempt)
        if target.secret_id is not None:
            if self._signing is None:
                raise NoKeyError("No secret is read here.")
            keys = await self._signing.keys(call.run.job.tenant, target.secret_id)
        request = request_of(call, self._clock.now(), token, keys)
        if self._showing is not None:
            self._showing.sends(request, target.headers, len(keys), self._clock.now())
        return request

    async def _exchange(self, call: Call, sent: Request, intake: Intake) -> Answer:
        request = self._session.request(
            sent.method,
            sent.url,
            data=sent.body,
            headers=sent.headers,
            skip_auto_headers=("Content-Type",),
            allow_redirects=False,
        )
        async with request as response:
            intake.has_head = True
            if self._showing is not None:
                self._showing.hears(response.headers, self._clock.now())
            body = await _read(response)
            response.close()
            retry_after = response.headers.get("Retry-After", "")
            return answered(call, intake.called_at, self._clock.now(), response.status, body, retry_after)


@dataclass(frozen=True)
class _Door(AbstractResolver):
    """What every connection goes through: a host is resolved to addresses that are all open to webhooks, or to none."""

    lookup: Lookup
    rules: AddressRules
    threads: ThreadPoolExecutor

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,  # noqa: ARG002 -- the connector always asks for both
    ) -> list[ResolveResult]:
        """Return the addresses of a host; raises ForbiddenAddressError if a single one is not open."""
        loop = asyncio.get_running_loop()
        addresses = await loop.run_in_executor(self.threads, self.lookup, host, port)
        for address in addresses:
            self.rules.check(address, port)
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

    def open_socket(self, where: tuple[Any, ...]) -> socket.socket:
        """Make a socket for an address that is open. One that is written in the url was never resolved."""
        family, kind, protocol, _, (address, port, *_) = where
        self.rules.check(address, port)
        return CountedSocket(family, kind, protocol)


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


def _late(host: str, timeout_seconds: float, intake: Intake) -> str:
    if intake.called_at is None:
        return f"No connection to {host} came about within {timeout_seconds:g} s."
    return f"{host} did not answer in full within {timeout_seconds:g} s."
