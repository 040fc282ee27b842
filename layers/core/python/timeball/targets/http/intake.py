"""Takes what targets send off the wire and to its parser: within bounds, and in turns.

Invariants: an exchange takes no more than WIRE_BYTES, from its connection on; nothing more is taken while something
waits to be parsed; a turn of the loop parses for one exchange, for about a millisecond.
"""

import asyncio
import socket
from collections import deque
from contextvars import ContextVar
from functools import partial
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler

from timeball.ports.clock import Clock

WIRE_BYTES = 256 * 1024
"""How much one exchange may bring, with its TLS handshake, its headers and what frames its body."""

HEAD_BYTES = 32 * 1024
"""How much may come before the answer's body: interim answers and headers, which cost the most to parse."""

_SLICE_BYTES = 4 * 1024
"""How much is taken off the wire at once. A TLS record, of up to 16 KB, is decrypted when its last slice is there."""

_PIECE_BYTES = 256
"""How much is parsed between two looks at the clock: less than a millisecond of the worst that is known."""

_TURN_SECONDS = 0.001


class Turns:
    """The exchanges of one loop that wait to go on, in the order in which they asked."""

    def __init__(self) -> None:
        self._waiting: deque[Intake] = deque()

    def ask(self, intake: "Intake") -> None:
        """Have an exchange go on when its turn comes."""
        self._waiting.append(intake)
        if len(self._waiting) == 1:
            asyncio.get_running_loop().call_soon(self._serve)

    def _serve(self) -> None:
        intake = self._waiting[0]
        try:
            intake.go_on()
        finally:
            self._waiting.popleft()
            if intake.is_behind:
                self._waiting.append(intake)
            if self._waiting:
                asyncio.get_running_loop().call_soon(self._serve)


class Intake(ResponseHandler):
    """What one exchange has taken in: counted on the wire, and handed to aiohttp's parser in pieces.

    `called_at` is the moment (ms) at which its connection stood and the request went onto the wire, None before.
    `is_cut`: the target sent more than it may, and was hung up on. `has_head`: the answer's head was parsed.
    `opened_at` is when (ms) the socket was made, which knows its address; `greeted_at` when the first byte was sent, by
    TLS if that is spoken.
    """

    def __init__(self, turns: Turns, clock: Clock) -> None:
        super().__init__(asyncio.get_running_loop())
        self.opened_at: int | None = None
        self.greeted_at: int | None = None
        self.called_at: int | None = None
        self.is_cut = False
        self.has_head = False
        self.is_behind = False
        self._turns = turns
        self._clock = clock
        self._taken = 0
        self._handed_on = 0
        self._unparsed = bytearray()
        self._lost: tuple[BaseException | None] | None = None
        self._is_tls = False

    @property
    def is_greeted_first(self) -> bool:
        """Whether something was sent before the connection stood for the request: TLS is spoken."""
        return self.greeted_at is not None and (self.called_at is None or self._is_tls)

    def open(self) -> None:
        """Note that a socket is made."""
        self.opened_at = self._clock.now()

    def greet(self) -> None:
        """Note that something is sent."""
        if self.greeted_at is None:
            self.greeted_at = self._clock.now()

    def await_turn(self) -> None:
        """Raise BlockingIOError unless more may be taken off the wire now."""
        if self.is_behind:
            raise BlockingIOError

    def count(self, taken: int) -> None:
        """Note bytes that were taken off the wire; raises ConnectionAbortedError if they are too many."""
        self._taken += taken
        if self._taken > WIRE_BYTES:
            self.is_cut = True
            raise ConnectionAbortedError
        self._fall_behind()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note the moment; TLS is agreed on by then."""
        super().connection_made(transport)
        self.called_at = self._clock.now()
        self._is_tls = self.greeted_at is not None

    def close(self) -> None:
        """End the connection now: a target that is slow to say goodbye in TLS is not waited for."""
        self.abort()

    def data_received(self, data: bytes) -> None:
        """Keep what came, decrypted by now, for the next turns."""
        self._unparsed += data
        self._fall_behind()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Tell the parser, once it has what came before."""
        self._lost = (exc,)
        self._fall_behind()

    def go_on(self) -> None:
        """Hand on for one turn what was taken, unless nobody wants it any more, or has asked for it yet."""
        until = self._loop.time() + _TURN_SECONDS
        # Judged at the next turn: by then whoever awaits the head has said that it came, however much came with it.
        if self._handed_on > HEAD_BYTES and not self.has_head:
            self.is_cut = True
            self.close()
        while self._unparsed:
            if self.is_cut or self.transport is None or self.exception() is not None:
                self._unparsed.clear()
                break
            if self._parser is None:
                break
            piece = bytes(self._unparsed[:_PIECE_BYTES])
            del self._unparsed[:_PIECE_BYTES]
            self._handed_on += len(piece)
            super().data_received(piece)
            if self._loop.time() >= until:
                break
        self.is_behind = bool(self._unparsed)
        if self._lost and not self.is_behind:
            (error,), self._lost = self._lost, None
            super().connection_lost(error)

    def _fall_behind(self) -> None:
        if not self.is_behind:
            self.is_behind = True
            self._turns.ask(self)


_intake: ContextVar[Intake] = ContextVar("intake")


def begin_intake(turns: Turns, clock: Clock) -> Intake:
    """Return what counts for all connections that the running task makes from now on."""
    intake = Intake(turns, clock)
    _intake.set(intake)
    return intake


class CountedSocket(socket.socket):
    """A socket that is read in slices, when it is its exchange's turn, and up to the bound.

    The transports of asyncio read through these two methods, TLS or not: so the bytes of a handshake count too.
    """

    def __init__(self, family: int, kind: int, protocol: int) -> None:
        super().__init__(family, kind, protocol)
        self._intake = _intake.get()
        self._intake.open()

    def send(self, data: Any, flags: int = 0, /) -> int:  # noqa: ANN401 -- as its parent
        """Send, and note that."""
        self._intake.greet()
        return super().send(data, flags)

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        """Receive at most a slice."""
        self._intake.await_turn()
        data = super().recv(min(bufsize, _SLICE_BYTES), flags)
        self._intake.count(len(data))
        return data

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:  # noqa: ANN401 -- as its parent
        """Receive at most a slice."""
        self._intake.await_turn()
        taken = super().recv_into(buffer, min(nbytes or len(buffer), _SLICE_BYTES), flags)
        self._intake.count(taken)
        return taken


class TurnsConnector(aiohttp.TCPConnector):
    """Makes connections that are received by the intake of the task that calls."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 -- as its parent
        super().__init__(**options)
        self._factory = partial(_intake.get)
