"""Lists: their query strings (filters, limit, cursor), and their pages.

A hash binds a cursor to its tenant and query, so that callers cannot mix up their own cursors. The hash is no secret
and grants nothing: the position in a cursor is used only within the tenant and the job of the request.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, TypeVar

from timeball.api.http.problems import ENOUGH_ERRORS, FieldError, invalid, shortened
from timeball.api.http.reply import AnswerModel, Reply, text_of
from timeball.api.http.sentences import unknown_name
from timeball.domain.model.ids import JOB_ID
from timeball.domain.time.instants import parse_instant

DEFAULT_LIMIT: Final = 50
MAX_LIMIT: Final = 200
PAGE_BYTES: Final = 5_000_000
"""The most bytes of a page: Lambda refuses answers over 6,291,556 bytes, as documented by AWS."""

AnyAnswer = TypeVar("AnyAnswer", bound=AnswerModel)

_DIGEST_BYTES: Final = 9
FOREIGN: Final = FieldError("cursor", "Give the nextCursor of an answer to the same query, or leave it out.")


def cursor_of(bound: Sequence[object], position: str) -> str:
    """Return the cursor for a position in a list; it is valid only for the query that `bound` describes."""
    text = "\x1f".join(map(str, (*bound, position)))
    digest = hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).digest()
    return base64.urlsafe_b64encode(digest + position.encode()).decode().rstrip("=")


def position_in(cursor: str) -> str:
    """Return the position in a cursor, or an empty string.

    The caller must compare the cursor with the one that the position yields.
    """
    try:
        raw = base64.urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        return raw[_DIGEST_BYTES:].decode("ascii")
    except (binascii.Error, UnicodeError):
        return ""


class QueryReader:
    """Reads query parameters, and collects bad values and unknown names in `errors`."""

    def __init__(self, query: Mapping[str, str], known: tuple[str, ...]) -> None:
        self._query = query
        unknown = (name for name in query if name not in known)
        self.errors = [
            FieldError(shortened(name), unknown_name("parameter", name, known))
            for name in islice(unknown, ENOUGH_ERRORS)
        ]

    def limit(self) -> int:
        """Return the length of a page."""
        text = self._query.get("limit", str(DEFAULT_LIMIT))
        if text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= MAX_LIMIT:
            return int(text)
        self.errors.append(FieldError("limit", f"This must be a whole number from 1 to {MAX_LIMIT}."))
        return DEFAULT_LIMIT

    def instant(self, name: str) -> int | None:
        """Return an instant (ms), or None if it is not given."""
        text = self._query.get(name)
        if text is None:
            return None
        try:
            return parse_instant(text.replace(" ", "+"))  # an offset's plus sign that was not percent-encoded
        except ValueError as bad:
            self.errors.append(FieldError(name, str(bad)))
            return None


def cursor_behind(bound: Sequence[object], created_at: int, name: str) -> str:
    """Return the cursor that continues a list by creation after the item with this time (ms) and name."""
    return cursor_of(bound, f"{created_at}.{name}")


def position_after_page(query: Mapping[str, str], bound: Sequence[object]) -> tuple[int, str] | None:
    """Return the creation time (ms) and the name of a page's last item. Raises ProblemError for a foreign cursor."""
    if "cursor" not in query:
        return None
    created_at, _, name = position_in(query["cursor"]).partition(".")
    if created_at.isascii() and created_at.isdecimal() and len(created_at) <= 14 and JOB_ID.fullmatch(name):
        position = int(created_at), name
        if cursor_behind(bound, *position) == query["cursor"]:
            return position
    raise invalid([FOREIGN])


def page_of(shown: Iterable[tuple[AnswerModel, str]], next_cursor: str | None, most_bytes: int) -> Reply:
    """Return a page of answers, each given with the cursor that continues after it.

    `next_cursor` continues after the last one. The page ends early before it exceeds `most_bytes`; it has at least one
    item, so every list comes to its end. Bytes are counted as Lambda sends them: as text within JSON, where a quote or
    a letter takes up to six bytes.
    """
    texts: list[str] = []
    size, cursor_so_far = 0, ""
    for answer, cursor in shown:
        text = text_of(answer)
        size += _sent_bytes(text)
        if texts and size > most_bytes:
            return _page(texts, cursor_so_far)
        texts.append(text)
        cursor_so_far = cursor
    return _page(texts, next_cursor)


def fitting(answers: Iterable[AnyAnswer], most_bytes: int) -> list[AnyAnswer]:
    """Return the first answers that together have at most `most_bytes`, as Lambda sends them."""
    found: list[AnyAnswer] = []
    for answer in answers:
        most_bytes -= _sent_bytes(text_of(answer))
        if most_bytes < 0:
            break
        found.append(answer)
    return found


def _sent_bytes(text: str) -> int:
    return len(json.dumps(text))


def _page(texts: Sequence[str], next_cursor: str | None) -> Reply:
    return Reply(200, f'{{"items":[{",".join(texts)}],"nextCursor":{json.dumps(next_cursor)}}}')
