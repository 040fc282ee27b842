"""Real calls to a receiver on this machine: one request over a fresh connection, and one answer.

Invariant: nothing leaves this machine, because only a loopback address, or `localhost`, is ever connected to.
"""

import http.client
import ipaddress
from dataclasses import dataclass

from timeball.rehearsal.errors import RehearsalError
from timeball.targets.http.addresses import UncallableError, Url, parse_url
from timeball.targets.http.request import HttpRequest

LONGEST_WAIT_SECONDS = 60
"""How long (in real time) a receiver may take: the virtual clock stands meanwhile."""

_BODY_BYTES = 16 * 1024
"""How much of an answer is read, and kept, as elsewhere."""


@dataclass(frozen=True)
class Received:
    """The answer of a receiver; or, without a status, a sentence that says why there is none."""

    status: int | None
    body: str = ""
    retry_after: str = ""
    why: str = ""
    timed_out: bool = False


def loopback_url(text: str) -> Url:
    """Return the URL of a receiver on this machine; raises RehearsalError for any other."""
    try:
        url = parse_url(text)
    except UncallableError as why:
        raise RehearsalError(f"{text!r} cannot be called: {why}") from None
    if url.scheme != "http" or not _is_loopback(url.host):
        raise RehearsalError(
            f"{text} is not on this machine: a rehearsal calls only http:// and a loopback address, such as "
            "http://127.0.0.1:8000, for real. Give other targets canned answers."
        )
    return url


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def send(request: HttpRequest, timeout_seconds: float) -> Received:
    """Send a request to a receiver on this machine, and wait for its answer. No redirect is followed."""
    url = loopback_url(str(request.url))
    connection = http.client.HTTPConnection(url.host, url.port, timeout=min(timeout_seconds, LONGEST_WAIT_SECONDS))
    try:
        connection.putrequest(request.method, url.request_target, skip_accept_encoding=True)
        for name, value in request.headers.items():
            connection.putheader(name, value.encode())
        if request.body is not None or request.method not in ("GET", "HEAD", "OPTIONS"):
            connection.putheader("Content-Length", str(len(request.body or b"")))
        connection.endheaders(request.body)
        response = connection.getresponse()
        body = response.read(_BODY_BYTES).decode("utf-8", "replace")
        return Received(response.status, body, response.headers.get("Retry-After") or "")
    except ConnectionRefusedError:
        return Received(None, why=f"{url.host} refused the connection.")
    except TimeoutError:
        return Received(None, why=f"{url.host} did not answer in full within its timeout.", timed_out=True)
    except (OSError, http.client.HTTPException) as error:
        return Received(None, why=f"The call of {url.host} failed ({type(error).__name__}).")
    finally:
        connection.close()
