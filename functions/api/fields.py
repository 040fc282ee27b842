"""The types of single fields: what a value must look like by itself, with the sentence that says so."""

import re
from collections.abc import Callable
from ipaddress import AddressValueError, IPv4Address
from itertools import islice
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from timeball.domain.cron import parse_cron
from timeball.domain.durations import LONGEST_PERIOD_SECONDS, parse_duration
from timeball.domain.ids import JOB_ID, RunId
from timeball.domain.instants import parse_instant
from timeball.domain.reason import FAILURES
from timeball.domain.retry import Cause
from timeball.domain.zones import load_zone

from .body import compact

MAX_PAYLOAD_BYTES: Final = 256 * 1024
MAX_RESULT_BYTES: Final = 16 * 1024
MAX_URL_LENGTH: Final = 2048
MAX_HEADERS: Final = 50
MAX_TAGS: Final = 50
MAX_HEADER_BYTES: Final = 8 * 1024

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_URL: Final = re.compile(r"[!-~]+", re.ASCII)
_LABEL: Final = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?|\[[0-9A-Fa-f:.]{{2,45}}\]", re.ASCII)
_NUMBER: Final = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*", re.ASCII)
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}", re.ASCII)
_HEADER_VALUE: Final = re.compile(r"(?:[!-~](?:[ \t!-~]*[!-~])?)?", re.ASCII)
_RETRY_CAUSE: Final = re.compile(rf"{Cause.TIMEOUT}|{Cause.CONNECTION}|{Cause.REPORTED}|[1-5][0-9]{{2}}|[345]xx")
_OWN_PREFIXES: Final = ("timeball-", "webhook-")
_OWN_HEADERS: Final = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "idempotency-key",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


def _instant(value: object) -> int:
    if not isinstance(value, str):
        raise ValueError("Write a time as 2026-11-21T09:30:00Z.")  # noqa: TRY004 - pydantic takes ValueError
    return parse_instant(value)


def _duration(value: object) -> object:
    """Turn an ISO 8601 duration into whole seconds; leave anything but text to the next check."""
    return parse_duration(value) if isinstance(value, str) else value


def _cron(expression: str) -> str:
    return parse_cron(expression).expression


def _zone(name: str) -> str:
    return load_zone(name).name


def _plain(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError("Leave out the control characters.")
    return text


def _url(url: str) -> str:
    """Accept an absolute http or https URL that names a host, and nothing that HTTP would not send."""
    if not _URL.fullmatch(url):
        raise ValueError("A URL holds no blanks and no characters beyond ASCII; percent-encode them.")
    if not url.lower().startswith(("https://", "http://")):
        raise ValueError("Give a URL that begins with https:// or http://.")
    if "#" in url:
        raise ValueError("Leave out the fragment (#...): it is never sent.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError("This is no URL; write one such as https://example.com/hook.") from None
    if "@" in parts.netloc:
        raise ValueError("Put no user name and no password into the URL; send an Authorization header instead.")
    bracketed, closing, _ = parts.netloc.rpartition("]")
    host = bracketed + closing if closing else parts.netloc.partition(":")[0]
    if port == 0 or len(host) > 253 or not _HOST.fullmatch(host):
        raise ValueError("The URL names no host that can be called; write one such as https://example.com/hook.")
    if _is_odd_address(host.removesuffix(".")):
        raise ValueError("Write an address as four decimal numbers, such as 203.0.113.7, or give a name.")
    return url


def _is_odd_address(host: str) -> bool:
    """Say whether a host would be looked up as an address, as `127.1` and `0x7f000001` are, but is not written as one.

    The last label decides: no name ends in a number.
    """
    if not _NUMBER.fullmatch(host.rpartition(".")[2]):
        return False
    try:
        IPv4Address(host)
    except AddressValueError:
        return True
    return False


def _handler(text: str) -> str:
    if "://" not in text:
        raise ValueError("Give an https:// or http:// URL; ids of tasks are not available yet.")
    return _url(text)


def _cut_behind(limit: int) -> Callable[[object], object]:
    """Return what leaves of an object just enough entries to be too many: each is judged before their number is."""

    def cut(entries: object) -> object:
        return dict(islice(entries.items(), limit + 1)) if isinstance(entries, dict) else entries

    return cut


def _header_name(name: str) -> str:
    if not _HEADER_NAME.fullmatch(name):
        raise ValueError("This is no legal name of a header; use letters, digits and hyphens.")
    if name.lower() in _OWN_HEADERS or name.lower().startswith(_OWN_PREFIXES):
        raise ValueError("Leave this header out: Timeball sets it itself.")
    return name


def _header_value(value: str) -> str:
    if not _HEADER_VALUE.fullmatch(value):
        raise ValueError("A header's value is one line of ASCII without blanks at its ends.")
    return value


def _headers(headers: dict[str, str]) -> dict[str, str]:
    if len({name.lower() for name in headers}) < len(headers):
        raise ValueError("Give each header once; upper and lower case make no difference.")
    if sum(len(name) + len(value) for name, value in headers.items()) > MAX_HEADER_BYTES:
        raise ValueError(f"All headers together may hold {MAX_HEADER_BYTES} bytes.")
    return headers


def _payload(payload: object) -> object:
    size = len(compact(payload).encode())
    if size > MAX_PAYLOAD_BYTES:
        raise ValueError(f"The payload has {size} bytes; at most {MAX_PAYLOAD_BYTES} (256 KB) are allowed.")
    return payload


def _result(result: object) -> object:
    size = len(compact(result).encode())
    if size > MAX_RESULT_BYTES:
        raise ValueError(
            f"The result has {size} bytes; at most {MAX_RESULT_BYTES} (16 KB) are kept: store it elsewhere."
        )
    return result


def _retry_cause(text: str) -> str:
    if not _RETRY_CAUSE.fullmatch(text):
        raise ValueError('Give timeout, connection, reported, a status such as "409", or a class: "3xx", "4xx", "5xx".')
    return text


def _retry_causes(causes: list[str]) -> list[str]:
    if len(set(causes)) < len(causes):
        raise ValueError("Give each entry once.")
    return causes


def _job_id(text: str) -> str:
    if not JOB_ID.fullmatch(text):
        raise ValueError("No job can have this id; give the jobId of an answer.")
    return text


def _run_id(text: str) -> str:
    if RunId.parse("", text) is None:
        raise ValueError("No run can have this id; give the runId of an answer.")
    return text


def _reason(text: str) -> str:
    if text not in _REASONS:
        raise ValueError(f"Give one of {', '.join(_REASONS)}.")
    return text


_REASONS: Final = [reason.value for reason in FAILURES]
_INSTANT_SCHEMA: Final = {"type": "string", "format": "date-time", "examples": ["2026-11-21T09:30:00Z"]}
_DURATION_SCHEMA: Final = {
    "anyOf": [{"type": "integer"}, {"type": "string", "format": "duration"}],
    "examples": [900, "PT15M"],
}

Instant = Annotated[int, BeforeValidator(_instant), WithJsonSchema(_INSTANT_SCHEMA)]
"""An ISO 8601 time with an offset; here ms."""

Delay = Annotated[int, BeforeValidator(_duration), Field(ge=0), WithJsonSchema(_DURATION_SCHEMA)]
Period = Annotated[
    int, BeforeValidator(_duration), Field(ge=1, le=LONGEST_PERIOD_SECONDS), WithJsonSchema(_DURATION_SCHEMA)
]
"""Whole seconds, also as an ISO 8601 duration."""

Expression = Annotated[str, AfterValidator(_cron), WithJsonSchema({"type": "string", "examples": ["0 9 * * MON-FRI"]})]
ZoneName = Annotated[str, AfterValidator(_zone), WithJsonSchema({"type": "string", "examples": ["Europe/Berlin"]})]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_plain)]
Handler = Annotated[str, Field(max_length=MAX_URL_LENGTH), AfterValidator(_handler)]
Url = Annotated[str, Field(max_length=MAX_URL_LENGTH), AfterValidator(_url)]
Headers = Annotated[
    dict[Annotated[str, AfterValidator(_header_name)], Annotated[str, AfterValidator(_header_value)]],
    Field(max_length=MAX_HEADERS),
    AfterValidator(_headers),
    BeforeValidator(_cut_behind(MAX_HEADERS)),
]
Tags = Annotated[
    dict[
        Annotated[str, Field(min_length=1, max_length=128), AfterValidator(_plain)],
        Annotated[str, Field(max_length=256), AfterValidator(_plain)],
    ],
    Field(max_length=MAX_TAGS),
    BeforeValidator(_cut_behind(MAX_TAGS)),
]
Payload = Annotated[Any, AfterValidator(_payload)]
Result = Annotated[Any, AfterValidator(_result)]
RetryCause = Annotated[
    str,
    AfterValidator(_retry_cause),
    WithJsonSchema({"type": "string", "pattern": f"^({_RETRY_CAUSE.pattern})$", "examples": ["timeout", "409", "5xx"]}),
]
RetryCauses = Annotated[
    list[RetryCause], Field(max_length=20, json_schema_extra={"uniqueItems": True}), AfterValidator(_retry_causes)
]
JobId = Annotated[str, AfterValidator(_job_id), WithJsonSchema({"type": "string", "pattern": f"^{JOB_ID.pattern}$"})]
RunIdText = Annotated[str, AfterValidator(_run_id), WithJsonSchema({"type": "string"})]
ReasonText = Annotated[str, AfterValidator(_reason), WithJsonSchema({"type": "string", "enum": _REASONS})]
AttemptNumber = Annotated[int, Field(ge=1)]
Factor = Annotated[float, Field(ge=1, le=10)]
