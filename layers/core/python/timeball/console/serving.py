"""Answer requests for the console's pages from memory, with the headers that keep foreign code out of them.

Invariant: a path is looked up among the known ones and never reaches a file system.
"""

import base64
import gzip
from collections.abc import Mapping
from typing import Any, Final

from timeball.console.packing import ServedFile

INDEXES: Final = ("", "/")
"""The ends of the paths of the index."""
PREFIX: Final = "/console"

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""The headers of each answer."""

_FOREVER: Final = "public, max-age=31536000, immutable"
_AGAIN: Final = "no-cache"
_NEVER: Final = "no-store"


def answer(pages: Mapping[str, ServedFile], event: Mapping[str, Any]) -> dict[str, Any]:
    """Answer an event of the HTTP API (payload format 2.0)."""
    method = event["requestContext"]["http"]["method"]
    if method not in ("GET", "HEAD"):
        return _plain(405, "Use GET or HEAD on this path.", {"Allow": "GET, HEAD"})
    below = event["rawPath"].partition(PREFIX)[2]
    is_index = below in INDEXES
    # The emulator drops the slash of `/console/`, so a browser there asks below `/console/` for `console/<digest>/…`.
    name = below if is_index else below.removeprefix("/").removeprefix("console/")
    page = pages.get(name)
    if page is None or is_index is not (name in INDEXES):
        return _plain(404, "The console has no such file. Open /console/ again: its files change with a deployment.")
    sent = {name.lower(): value for name, value in event.get("headers", {}).items()}
    caching = {"Cache-Control": _AGAIN if is_index else _FOREVER, "ETag": page.etag}
    if page.etag in sent.get("if-none-match", ""):
        return {"statusCode": 304, "headers": HEADERS | caching, "body": "", "isBase64Encoded": False}
    return _page(page, sent, caching, has_body=method == "GET")


def _page(page: ServedFile, sent: Mapping[str, str], caching: dict[str, str], *, has_body: bool) -> dict[str, Any]:
    takes_gzip = "gzip" in sent.get("accept-encoding", "")
    encoding = {"Content-Encoding": "gzip"} if takes_gzip else {}
    body = page.zipped if takes_gzip else _unzipped(page)
    headers = HEADERS | caching | encoding | {"Content-Type": page.content_type, "Vary": "Accept-Encoding"}
    return {"statusCode": 200, "headers": headers, "body": body if has_body else "", "isBase64Encoded": has_body}


def _unzipped(page: ServedFile) -> str:
    return base64.b64encode(gzip.decompress(base64.b64decode(page.zipped))).decode()


def _plain(status: int, sentence: str, headers: dict[str, str] | None = None) -> dict[str, Any]:
    about = {"Content-Type": "text/plain; charset=utf-8", "Cache-Control": _NEVER}
    return {
        "statusCode": status,
        "headers": HEADERS | about | (headers or {}),
        "body": f"{sentence}\n",
        "isBase64Encoded": False,
    }
