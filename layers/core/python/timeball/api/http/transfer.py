"""The transfer of an answer: its ETag, a 304 for a caller that has it already, and its compression.

The ETag of an answer that is read comes from its text, apart from the instant at which it was read, so it changes
whenever the answer does. It is weak, because the same answer may be sent compressed and not. A resource that changes
by its version alone keeps the version as its ETag.
"""

import base64
import gzip
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from timeball.api.http.exchange import Reply, digest

LEAST_BYTES: Final = 1_000
"""Shorter answers are not compressed: they fit a packet or two anyway."""

_LEVEL: Final = 5
_TAG: Final = re.compile(r'"[^"]*"')
_NO_WEIGHT: Final = re.compile(r"q\s*=\s*0(\.0*)?")


def validated(reply: Reply, if_none_match: str | None) -> Reply:
    """Return the reply to a GET with its ETag; a 304 without a body if the caller names that ETag, or any by `*`."""
    if reply.status != 200:
        return reply
    tag = reply.headers.get("ETag") or f'W/"{digest(reply.compared or reply.body)}"'
    known = (if_none_match or "").strip()
    headers = {**reply.headers, "ETag": tag}
    if known == "*" or tag.removeprefix("W/") in _TAG.findall(known):
        return Reply(304, "", headers, reply.media_type)
    return replace(reply, headers=headers)


def compressed(answer: Mapping[str, Any], accept_encoding: str | None) -> dict[str, Any]:
    """Return API Gateway's form of an answer, compressed if that makes it shorter and the caller accepts it."""
    body = answer.get("body") or ""
    if answer["isBase64Encoded"] or len(body) < LEAST_BYTES:
        return dict(answer)
    headers = {**answer["headers"], "Vary": "Accept-Encoding"}
    if _accepts_gzip(accept_encoding or ""):
        packed = base64.b64encode(gzip.compress(body.encode(), _LEVEL, mtime=0)).decode()
        if len(packed) < len(body):
            headers["Content-Encoding"] = "gzip"
            return {**answer, "headers": headers, "body": packed, "isBase64Encoded": True}
    return {**answer, "headers": headers}


def _accepts_gzip(accepted: str) -> bool:
    """Say whether an Accept-Encoding header names gzip, or any encoding, with a weight above 0."""
    codings = {
        name.strip().lower(): weight for part in accepted.split(",") for name, _, weight in [part.partition(";")]
    }
    weight = codings.get("gzip", codings.get("*"))
    return weight is not None and not _NO_WEIGHT.fullmatch(weight.strip().lower())
