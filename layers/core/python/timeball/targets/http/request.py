"""The request to a webhook: url, method, headers and body, filled in, checked and signed before anything is sent.

A signature, by Standard Webhooks, proves to a target that a request is Timeball's and was not changed. While a key is
being changed two are live, and each signs: a target that knows either of them accepts the request.

Imports no HTTP client, so that a target can be validated by the same rules when a job is created.
"""

import binascii
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from timeball import __version__
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.templates.filling import JSON, content_type_of, fill_body, fill_header, fill_url, format_of
from timeball.domain.templates.template import Values
from timeball.domain.time.instants import SECOND_MS, format_instant
from timeball.ports.target import Call
from timeball.targets.envelope import as_headers, facts_of
from timeball.targets.http.addresses import UncallableError, Url, parse_url

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

RESERVED_HEADERS = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers that frame the request or route the connection, in lower case: a user may never set them."""

PREFIX: Final = "whsec_"
SHORTEST_KEY, LONGEST_KEY = 24, 64
"""In bytes, as the standard says."""

_TOKEN = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_UNSENDABLE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True)
class HttpRequest:
    """One request, ready to be sent."""

    method: str
    url: Url
    headers: Mapping[str, str]
    body: bytes | None


def request_of(call: Call, now: int, token: str | None = None, keys: Sequence[bytes] = ()) -> HttpRequest:
    """Return the request of a call at `now` (ms).

    `token`: with it the target may report on the attempt. With `keys` it is signed. Raises UncallableError, and
    TemplateError if the target asks for something that cannot be filled in.
    """
    target, run, payload = webhook_of(call.work), call.run, call.work.payload
    fire_time = format_instant(run.fire_at)
    values = Values(run.job.job_id, str(run), fire_time, call.attempt, payload, call.has_parents)
    check_headers(target)
    url = parse_url(fill_url(target.url, values))
    theirs = {name: fill_header(name, value, values) for name, value in target.headers.items()}
    if target.body is not None:
        payload = fill_body(target.body, format_of(content_type_of(theirs)), values)
    body = None if payload is None else payload.encode()
    ours = _own_headers(call, now, token)
    if keys:
        ours["webhook-signature"] = signature_of(str(call.run), now // SECOND_MS, body or b"", keys)
    usual = {"User-Agent": f"Timeball/{__version__}"}
    if body is not None:  # some frameworks answer 400 to an empty body that claims to be JSON
        usual["Content-Type"] = JSON
    return HttpRequest(parse_method(target.method), url, _together(usual, theirs, ours), body)


def _together(*many: Mapping[str, str]) -> Mapping[str, str]:
    """Return headers where later ones win, whatever the case of their names."""
    named = {name.lower(): (name, value) for headers in many for name, value in headers.items()}
    return dict(named.values())


def _own_headers(call: Call, now: int, token: str | None) -> dict[str, str]:
    """Return the headers that win over the user's."""
    return {
        "Accept-Encoding": "identity",
        **as_headers(facts_of(call, token)),
        "Idempotency-Key": str(call.run),
        "webhook-id": str(call.run),
        "webhook-timestamp": str(now // SECOND_MS),
    }


def webhook_of(work: Work) -> HttpTarget:
    """Return the webhook that work calls; raises UncallableError if its target is none."""
    if not isinstance(work.target, HttpTarget):
        raise UncallableError("This target is no webhook.")
    return work.target


def parse_method(text: str) -> str:
    """Return a target's method in upper case; raises UncallableError if webhooks do not have it."""
    method = text.upper()
    if method not in METHODS:
        raise UncallableError(f"The target's method must be one of {', '.join(sorted(METHODS))}.")
    return method


def check_headers(target: HttpTarget) -> None:
    """Raise UncallableError for a user's header that cannot be sent, or that users may not set."""
    for name, value in target.headers.items():
        if not _TOKEN.fullmatch(name):
            raise UncallableError("The name of one of the target's headers is not a header's name.")
        if name.lower() in RESERVED_HEADERS:
            raise UncallableError(f"The header {name} is Timeball's to set; remove it from the target.")
        if _UNSENDABLE.search(value):
            raise UncallableError(f"The target's header {name} holds a character that cannot be sent.")


def parse_key(text: str) -> bytes | None:
    """Return the key in a secret's value; None if it contains none."""
    text = text.strip()  # a value from a file or a form ends in a line feed
    digits = text.removeprefix(PREFIX)
    try:
        key = b64decode(digits + "=" * (-len(digits) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if text.startswith(PREFIX) and SHORTEST_KEY <= len(key) <= LONGEST_KEY else None


def signature_of(message_id: str, sent_at: int, body: bytes, keys: Sequence[bytes]) -> str:
    """Return the value of `webhook-signature`: one signature for each key. `sent_at` is in seconds."""
    signed = f"{message_id}.{sent_at}.".encode() + body
    return " ".join(f"v1,{b64encode(hmac.digest(key, signed, 'sha256')).decode()}" for key in keys)
