"""The sentences for calls of webhooks without an answer, and the record of a trial's call.

A sentence has a placeholder for the host. It contains no header, no payload, and no address that a name leads to. A
trial shows the request, without the values of the user's headers, the answer's headers, and the timings.
"""

import errno
from collections.abc import Collection, Sequence
from typing import Final

import pycurl

from timeball.domain.time.instants import SECOND_MS
from timeball.targets.calls import Trace
from timeball.targets.http.addresses import CLOSED, ForbiddenAddressError, UncallableError
from timeball.targets.http.exchange import Exchange
from timeball.targets.http.names import is_address
from timeball.targets.http.request import HttpRequest

_FORBIDDEN = f"{{host}} leads to an address that webhooks may not call: {CLOSED}."
_UNKNOWN = f"The name {{host}} could not be resolved, or leads to an address that webhooks may not call: {CLOSED}."
"""One sentence for both cases: a difference would show which names the network resolves."""
_MALFORMED = "The target's url is malformed."

_FLOOD = "{host} sent more than 256 KB around its answer, or more than 32 KB before it."
_REFUSED = "{host} refused the connection."
_UNCERTIFIED = "The TLS certificate of {host} could not be verified."
_NO_TLS = "No TLS connection to {host} could be agreed on."
_NO_CONNECTION = "No connection to {host} could be made."
_EARLY = "{host} closed the connection before it answered."
_MIDDLE = "{host} closed the connection in the middle of its answer, or broke the rules of HTTP there."
_GARBAGE = "The answer of {host} is not HTTP, or its headers are too large."

_UNCONNECTED = {
    pycurl.E_URL_MALFORMAT: _MALFORMED,
    pycurl.E_COULDNT_RESOLVE_HOST: _UNKNOWN,
    pycurl.E_PEER_FAILED_VERIFICATION: _UNCERTIFIED,
    pycurl.E_SSL_CONNECT_ERROR: _NO_TLS,
}
_BROKEN_OFF = {pycurl.E_OK, pycurl.E_GOT_NOTHING, pycurl.E_RECV_ERROR, pycurl.E_SEND_ERROR, pycurl.E_PARTIAL_FILE}


def late(exchange: Exchange, timeout_seconds: float) -> str:
    """Return a sentence that says how far an exchange came before it was given up."""
    if exchange.is_cut:
        return _FLOOD
    if exchange.called_at is None:
        return f"No connection to {{host}} could be made within {timeout_seconds:g} s."
    return f"{{host}} did not answer in full within {timeout_seconds:g} s."


def unsent_because(error: Exception, host: str) -> str:
    """Return a sentence that says why a call of a host, a name or an address, had no exchange."""
    if isinstance(error, UncallableError):
        return str(error)
    if isinstance(error, ForbiddenAddressError) and is_address(host):
        return _FORBIDDEN
    for kind, sentence in ((UnicodeError, _MALFORMED), (OSError, _UNKNOWN)):
        if isinstance(error, kind):
            return sentence
    return f"The call of {{host}} failed ({type(error).__name__})."


def sentence_of(code: int, system_error: int, exchange: Exchange) -> str | None:
    """Return why an exchange with these codes of libcurl and of the system has no answer; None if it has one."""
    if exchange.is_cut:
        return _FLOOD
    if exchange.is_whole or (code == pycurl.E_OK and exchange.headed_at is not None):
        return None
    if exchange.called_at is None:
        if exchange.is_forbidden:
            return _FORBIDDEN
        if code == pycurl.E_COULDNT_CONNECT and system_error == errno.ECONNREFUSED:
            return _REFUSED
        return _UNCONNECTED.get(code, _NO_CONNECTION)
    if exchange.headed_at is not None:
        return _MIDDLE
    return _EARLY if code in _BROKEN_OFF and not exchange.is_garbage else _GARBAGE


_LONGEST_BODY: Final = 16 * 1024
_LONGEST_HEADERS: Final = 8 * 1024


def record_request(trace: Trace, request: HttpRequest, own: Collection[str], signatures: int, now: int) -> None:
    """Record a trial's request. The user's `own` headers are shown without values, which may be secret."""
    hidden = {name.lower() for name in own}
    headers = {name: None if name.lower() in hidden else value for name, value in request.headers.items()}
    body = None if request.body is None else request.body[:_LONGEST_BODY].decode("utf-8", "ignore")
    trace.request = {"method": request.method, "url": str(request.url), "headers": headers, "body": body}
    trace.signatures = signatures
    trace.sent_at = now


def record_answer(trace: Trace, exchange: Exchange, curl: pycurl.Curl, now: int) -> None:
    """Record what has come so far, and how long each phase took that was reached; TLS only if it is used."""
    if exchange.headed_at is not None:
        trace.headers = _shown_headers(exchange.headers())
    connecting, greeting = curl.getinfo(pycurl.CONNECT_TIME), curl.getinfo(pycurl.APPCONNECT_TIME)
    parts = {
        "name": _between(trace.sent_at, exchange.opened_at),
        "connect": _in_ms(connecting),
        "tls": _in_ms(greeting and greeting - connecting),
        "wait": _between(exchange.called_at, exchange.headed_at),
        "body": _between(exchange.headed_at, now),
    }
    trace.took_ms = {part: took for part, took in parts.items() if took is not None}


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
