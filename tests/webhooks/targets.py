"""Targets on the loopback that do byte by byte what a test asks of them."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.leap import leap
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.runs.values import Failed, Succeeded
from timeball.domain.model.terms.policies import RETRIED_BY_DEFAULT, Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.ports.target import Answer, Call
from timeball.targets.http.addresses import AddressRules, parse_rules
from timeball.targets.http.caller import http_caller
from timeball.targets.http.names import Lookup
from timeball.testing.virtual_clock import VirtualClock

NOW = 1_795_253_400_123
"""2026-11-21T09:30:00.123Z."""

RUN = RunId(JobKey("acme", "nightly"), NOW - 100, Origin.SCHEDULE)
LOCAL = parse_rules("127.0.0.0/8")
CLOSED = (
    "The name hooks.example could not be resolved, or leads to an address that webhooks may not call: "
    "private, local or reserved; the setting timeball:private_targets opens private networks."
)
"""The error for the name that tests call, whether it leads to a closed address or does not exist."""

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass(frozen=True)
class Request:
    """A request as it was received; header names in lower case."""

    line: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Target:
    """A listening target: its address, its connections and requests."""

    port: int
    host: str = "127.0.0.1"
    scheme: str = "http"
    connections: int = 0
    requests: list[Request] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}/hook"


PATIENT = 60.0
"""The timeout (s) of a call whose answer a test awaits: a busy machine takes seconds for it."""

Behaviour = Callable[[Target, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def receive(target: Target, reader: asyncio.StreamReader) -> Request:
    """Read one request and record it."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *fields = head.strip().split("\r\n")
    headers = {name.lower(): value.removeprefix(" ") for name, _, value in (field.partition(":") for field in fields)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    request = Request(line, headers, body)
    target.requests.append(request)
    return request


def answering(raw: bytes) -> Behaviour:
    """Return a behaviour: read a request, write these bytes, close."""

    async def behave(target: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(target, reader)
        writer.write(raw)
        await writer.drain()

    return behave


def holding(raw: bytes, leaps: float = 0) -> Behaviour:
    """Return a behaviour: read a request, write these bytes, wait for the caller to hang up.

    `leaps` seconds pass at once after the bytes.
    """

    async def behave(target: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(target, reader)
        writer.write(raw)
        leap(leaps)
        await reader.read()

    return behave


def endless(head: bytes, piece: bytes, sent: list[int] | None = None) -> Behaviour:
    """Return a behaviour: read a request, write the head, then pieces until the caller hangs up.

    `sent` gets the size of each piece.
    """

    async def behave(target: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(target, reader)
        writer.write(head)
        while True:
            writer.write(piece)
            await writer.drain()
            # Python 3.11 notices a lost TLS connection an iteration later, and drain does not wait for that.
            await asyncio.sleep(0)
            if sent is not None:
                sent.append(len(piece))

    return behave


def self_signed(folder: Path) -> ssl.SSLContext:
    """Return the TLS context of a target at 127.0.0.1; its key and certificate are in `target.pem`."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(datetime(2000, 1, 1, tzinfo=UTC))  # valid at any date of the machine
    builder = builder.not_valid_after(datetime(2100, 1, 1, tzinfo=UTC))
    builder = builder.add_extension(
        x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "target.pem").write_bytes(private + builder.sign(key, hashes.SHA256()).public_bytes(pem))
    return speaking_tls(folder)


def speaking_tls(folder: Path) -> ssl.SSLContext:
    """Return the TLS context of a target with the `target.pem` in a folder."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "target.pem")
    return context


def trusting(folder: Path) -> Path:
    """Return the verification of a caller that trusts the certificate in a folder."""
    return folder / "target.pem"


@asynccontextmanager
async def listening(
    behave: Behaviour, *, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Target]:
    """Run a target that serves each connection by `behave`, then closes it."""
    target = Target(port, host, "https" if tls else "http")
    serving: set[asyncio.Task[None]] = set()
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target.connections += 1
        writers.append(writer)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await behave(target, reader, writer)
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(serve(reader, writer))
        serving.add(task)
        task.add_done_callback(serving.discard)

    server = await asyncio.start_server(accept, host, port, ssl=tls)
    target.port = server.sockets[0].getsockname()[1]
    try:
        yield target
    finally:
        server.close()
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
        for writer in writers:
            writer.transport.abort()  # data that the caller did not read would keep it open
        await asyncio.gather(*(writer.wait_closed() for writer in writers), return_exceptions=True)


def success(body: str = "", status: int = 200) -> Answer:
    """Return the result of a call that is answered at once and succeeds."""
    return Answer(Succeeded(), NOW, NOW, status, body, is_down=False)


def no_answer(error: str, called_at: int | None = NOW, *, timed_out: bool = False) -> Answer:
    """Return the result of a call without an answer: it is retried, and counts against its host."""
    return Answer(Failed(may_retry=True), called_at, NOW, error=error, timed_out=timed_out, is_down=True)


def a_call(url: str, *, timeout: float = PATIENT, attempt: int = 1, work: Work | None = None) -> Call:
    """Return a call of a URL, of RUN, with a small payload."""
    return Call(
        RUN, attempt, work or Work(HttpTarget(url), '{"n": 1}'), timeout, RETRIED_BY_DEFAULT, takes_report=False
    )


def call_url(
    url: str, rules: AddressRules = LOCAL, *, lookup: Lookup | None = None, timeout: float = PATIENT
) -> Answer:
    """Call a URL once."""

    async def main() -> Answer:
        async with http_caller(VirtualClock(NOW), rules, lookup) as caller:
            return await caller.call(a_call(url, timeout=timeout))

    return asyncio.run(main())


def call_target(
    behave: Behaviour,
    *,
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
    payload: str | None = '{"n": 1}',
    timeout: float = PATIENT,
    clock: VirtualClock | None = None,
) -> tuple[Answer, Target]:
    """Run a target, call it once, and return the answer and the target."""

    async def main() -> tuple[Answer, Target]:
        async with listening(behave) as target, http_caller(clock or VirtualClock(NOW), LOCAL) as caller:
            work = Work(HttpTarget(target.url, method, headers or {}), payload)
            return await caller.call(a_call(target.url, timeout=timeout, work=work)), target

    return asyncio.run(main())


@asynccontextmanager
async def closed_port() -> AsyncIterator[int]:
    """Hold a port without a listener."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]
