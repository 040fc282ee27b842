"""Trace contexts (W3C): what a request hands on, and what the call of each attempt hands on in turn.

The context of a request is `traceparent`: a trace, the span that sent the request, and flags. Each attempt is a span of
its own in the same trace. Its id is a hash, so that it needs no place on the run's row, and a call that is repeated
under one attempt has one id.
"""

import hashlib
import re
from typing import Final

from timeball.domain.model.ids import RunId

_FORMAT: Final = re.compile(r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_VERSION: Final = "00"
_KNOWN_FLAGS: Final = 0b11
"""Whether the trace is sampled, and whether its id is random."""


def parse_traceparent(text: str | None) -> str | None:
    """Return the context that a header holds, in the form of version 00; None: it holds none, or is malformed."""
    match = None if text is None else _FORMAT.fullmatch(text.strip())
    if match is None:
        return None
    version, trace, span, flags, rest = match.groups()
    if version == _VERSION and rest is not None:
        return None
    return _text(trace, span, int(flags, 16) & _KNOWN_FLAGS)


def of_attempt(traceparent: str, run: RunId, attempt: int) -> str:
    """Return the context that the call of an attempt hands on: the trace and flags of a request, and its own span."""
    _, trace, _, flags = traceparent.split("-")
    name = f"{traceparent} {run.job.tenant} {run} {attempt}"
    return _text(trace, hashlib.blake2b(name.encode(), digest_size=8).hexdigest(), int(flags, 16))


def ids_in(traceparent: str) -> tuple[str, str]:
    """Return the ids of the trace and of the span."""
    _, trace, span, _ = traceparent.split("-")
    return trace, span


def as_xray(traceparent: str) -> str:
    """Return a context in the form that services of AWS take: that of the header `X-Amzn-Trace-Id`."""
    _, trace, span, flags = traceparent.split("-")
    return f"Root=1-{trace[:8]}-{trace[8:]};Parent={span};Sampled={int(flags, 16) & 1}"


def _text(trace: str, span: str, flags: int) -> str:
    return f"{_VERSION}-{trace}-{span}-{flags:02x}"
