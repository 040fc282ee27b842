"""Answers that never end and that are the most expensive to parse; a separate process sends them."""

import asyncio
import multiprocessing
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path

from tests.webhooks.targets import OK, answering, endless, listening, speaking_tls

_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

FLOODS: dict[str, tuple[bytes, bytes]] = {
    "interim answers": (b"", b"HTTP/1.1 100\r\n\r\n" * 4_096),
    "interim answers with headers": (b"", (b"HTTP/1.1 103 E\r\n" + b"a:\n" * 100 + b"\r\n") * 200),
    "a chunk's extensions": (_CHUNKED + b"1;", b"a=b;" * 16_384),
    "a chunk size's zeros": (_CHUNKED, b"0" * 65_536),
    "tiny chunks with extensions": (_CHUNKED, (b"1;" + b"a" * 60 + b"\r\nx\r\n") * 1_000),
    "line ends before the answer": (b"", b"\r\n" * 32_768),
}
"""The bytes that are sent once, and the bytes that are repeated."""

_PIECE = b"x" * 65_536
GIGABYTES: dict[str, tuple[bytes, bytes]] = {
    "with its length": (b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n", _PIECE),
    "in many chunks": (_CHUNKED, b"10000\r\n" + _PIECE + b"\r\n"),
    "as a header": (b"HTTP/1.1 200 OK\r\nX-A: ", _PIECE),
}
"""Answers of a gigabyte, in the same form."""


@contextmanager
def flooding(name: str, folder: Path | None) -> Iterator[tuple[str, str]]:
    """Run a flooding target and one that answers in another process, over TLS if `folder` has a certificate.

    Yields the URL of each. They are not in this process, whose CPU time is measured.
    """
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_run, args=(there, name, folder), daemon=True)
    process.start()
    there.close()
    try:
        yield here.recv()
    finally:
        here.close()
        process.join()


def _run(connection: Connection, name: str, folder: Path | None) -> None:
    with suppress(EOFError):
        asyncio.run(_serve(connection, name, folder))


async def _serve(connection: Connection, name: str, folder: Path | None) -> None:
    tls = None if folder is None else speaking_tls(folder)
    async with AsyncExitStack() as targets:
        hostile = await targets.enter_async_context(listening(endless(*{**FLOODS, **GIGABYTES}[name]), tls=tls))
        neighbour = await targets.enter_async_context(listening(answering(OK), tls=tls))
        connection.send((hostile.url, neighbour.url))
        await asyncio.to_thread(connection.recv)
