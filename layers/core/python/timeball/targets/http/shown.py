"""A webhook's call as a trial shows it: the request, without the values of the user's headers, and its timings."""

from collections.abc import Collection, Sequence
from typing import Final

import pycurl

from timeball.domain.time.instants import SECOND_MS
from timeball.targets.http.exchange import Exchange
from timeball.targets.http.request import HttpRequest
from timeball.targets.trace import Trace

_LONGEST_BODY: Final = 16 * 1024
_LONGEST_HEADERS: Final = 8 * 1024


class Showing:
    """Records the one call that is made in a trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._sent_at: int | None = None

    def record_request(self, request: HttpRequest, own: Collection[str], signatures: int, now: int) -> None:
        """Record the request. The user's `own` headers are shown without values, which may be secret."""
        hidden = {name.lower() for name in own}
        headers = {name: None if name.lower() in hidden else value for name, value in request.headers.items()}
        body = None if request.body is None else request.body[:_LONGEST_BODY].decode("utf-8", "ignore")
        self._trace.request = {"method": request.method, "url": str(request.url), "headers": headers, "body": body}
        self._trace.signatures = signatures
        self._sent_at = now

    def record_answer(self, exchange: Exchange, curl: pycurl.Curl, now: int) -> None:
        """Record what has come so far, and how long each phase took that was reached; TLS only if it is used."""
        if exchange.headed_at is not None:
            self._trace.headers = _shown_headers(exchange.headers())
        connecting, greeting = curl.getinfo(pycurl.CONNECT_TIME), curl.getinfo(pycurl.APPCONNECT_TIME)
        parts = {
            "name": _between(self._sent_at, exchange.opened_at),
            "connect": _in_ms(connecting),
            "tls": _in_ms(greeting and greeting - connecting),
            "wait": _between(exchange.called_at, exchange.headed_at),
            "body": _between(exchange.headed_at, now),
        }
        self._trace.took_ms = {part: took for part, took in parts.items() if took is not None}


def _between(begin: int | None, end: int | None) -> int | None:
    return None if begin is None or end is None else end - begin


def _in_ms(seconds: float) -> int | None:
    """Return what libcurl measured in ms; None for its 0, which stands for a phase that was not reached."""
    return round(seconds * SECOND_MS) if seconds else None


def _shown_headers(headers: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return an answer's headers, up to a limit."""
    shown: dict[str, str] = {}
    left = _LONGEST_HEADERS
    for name, value in headers:
        left -= len(name) + len(value)
        if left >= 0:
            shown[name] = value
    return shown
