"""One exchange with a webhook, as libcurl's callbacks see it: which addresses it reaches, and how much may come back.

Invariants: a socket is made only for an address that the rules allow; at most WIRE_BYTES are read from the wire, from
the connection on, and at most HEAD_BYTES before the answer's body, of which at most BODY_BYTES are kept.
"""

import socket
import sys
from array import array
from contextlib import suppress
from fcntl import ioctl
from termios import FIONREAD
from typing import Any, Final

import pycurl

from timeball.ports.clock import Clock
from timeball.targets.http.addresses import AddressRules, ForbiddenAddressError

WIRE_BYTES: Final = 256 * 1024
"""How much one exchange may receive, with its TLS handshake, its headers and the framing of its body."""

HEAD_BYTES: Final = 32 * 1024
"""How much may come before the answer's body: interim answers and headers. Each line costs a call of ours."""

BODY_BYTES: Final = 16 * 1024
"""How much of an answer is read, and kept; the rest is never read from the wire."""

_MOST_LINES: Final = 128
_LONGEST_LINE: Final = 8 * 1024
"""The limits for one head."""

_STOP: Final = -1
_END_OF_STREAM: Final = 1
"""Linux counts the end of the stream as a received byte."""
_RECEIVED_AT: Final = 128
"""Where Linux's `tcp_info` holds the number of received bytes, as eight bytes."""


class Exchange:
    """The state of one exchange.

    `has_body`: whether the answer may have one. `opened_at` is the moment (ms) at which it had a socket, `called_at`
    the moment at which the connection stood and the request was sent, `headed_at` the moment at which the answer's head
    was complete, whose lines are `head`; each is None before. `is_forbidden`: an address was refused. `is_cut`: the
    target sent more than it may. `is_garbage`: what it sent is no answer. `is_whole`: no more of the body will come, or
    be kept.
    """

    def __init__(self, clock: Clock, rules: AddressRules) -> None:
        self.has_body = True
        self.opened_at: int | None = None
        self.called_at: int | None = None
        self.headed_at: int | None = None
        self.head: list[bytes] = []
        self.body = bytearray()
        self.is_forbidden = self.is_cut = self.is_garbage = self.is_whole = False
        self._clock = clock
        self._rules = rules
        self._sockets: list[socket.socket] = []
        self._head_bytes = 0

    def open_socket(self, _: int, where: Any) -> Any:  # noqa: ANN401 - as libcurl has it
        """Make a socket for an address that is open."""
        address, port, *_ = where.addr
        try:
            self._rules.check(address, port)
        except ForbiddenAddressError:
            self.is_forbidden = True
            return pycurl.SOCKET_BAD
        made = socket.socket(where.family, where.socktype, where.protocol)
        self.opened_at = self.opened_at or self._clock.now()
        self._sockets.append(made)  # libcurl has a duplicate, and this one counts the received bytes
        return made

    def leave(self, *_: object) -> int:
        """Note that the connection stands, including TLS, and that the request leaves."""
        self.called_at = self._clock.now()
        return int(pycurl.PREREQFUNC_OK)

    def take_line(self, line: bytes) -> int | None:
        """Take a line of a head. libcurl checks it, but accepts HTTP/3.0 and headers without a name."""
        if self.headed_at is not None:
            return None  # a trailer
        self._head_bytes += len(line)
        self.is_cut = self._head_bytes > HEAD_BYTES
        if line not in (b"\r\n", b"\n"):
            self.head.append(line)
            is_large = len(self.head) > _MOST_LINES or len(line) > _LONGEST_LINE
            self.is_garbage = is_large or line.startswith(b":") or not self.head[0].startswith(b"HTTP/1.")
        elif self.status >= 200:
            self.headed_at = self._clock.now()
            self.is_whole = not self.has_body
        else:
            self.head.clear()  # of an interim answer
        return _STOP if self.is_cut or self.is_garbage or self.is_whole else None

    def take_body(self, data: bytes) -> int | None:
        """Keep the body up to its limit, and end the exchange there."""
        self.body += data[: BODY_BYTES - len(self.body)]
        self.is_whole = len(self.body) == BODY_BYTES
        return _STOP if self.is_whole else None

    def count(self, *_: object) -> int:
        """End the exchange if more was read from the wire than is allowed."""
        if sum(map(_taken, self._sockets)) > WIRE_BYTES:
            self.is_cut = True
        return _STOP if self.is_cut else 0

    def close(self) -> None:
        """Close the connection now, without waiting for a target that is slow to end TLS."""
        self.count()
        for opened in self._sockets:
            with suppress(OSError):
                opened.shutdown(socket.SHUT_RDWR)  # also for libcurl's duplicate, which may still want to end TLS
            opened.close()
        self._sockets.clear()

    @property
    def status(self) -> int:
        """Return the status of the head that comes, or has come; 0 before."""
        return int(self.head[0][9:12]) if self.head else 0

    def headers(self) -> list[tuple[str, str]]:
        """Return the names and values of the answer's headers."""
        fields = (line.decode("utf-8", "replace").partition(":") for line in self.head[1:])
        return [(name.strip(), value.strip()) for name, _, value in fields]

    def header(self, name: str) -> str:
        """Return the value of the answer's first header of a name in lower case; empty if it has none."""
        return next((value for key, value in self.headers() if key.lower() == name), "")


def _taken(opened: socket.socket) -> int:
    """Return how many bytes were read from the wire, as far as the system reports it."""
    if sys.platform != "linux":
        return 0
    tcp_info = opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RECEIVED_AT + 8)
    received = int.from_bytes(tcp_info[_RECEIVED_AT:], sys.byteorder) - _END_OF_STREAM
    if received <= WIRE_BYTES:
        return received
    unread = array("i", [0])
    ioctl(opened, FIONREAD, unread)
    return received - unread[0]
