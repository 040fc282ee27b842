"""Lists: the query string of each, its page, and the cursor that continues it. No list makes a cursor another way.

A list is read in three steps: `PageQuery(request)` reads the query string, `after` returns the position at which the
page before ended, and `page` or `first` makes the answer.

A hash binds a cursor to its tenant and query, so that callers cannot mix up their own cursors. The hash is no secret
and grants nothing: the position in a cursor is used only within the tenant and the job of the request.
"""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, TypeVar

from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import AnswerModel, Reply, Request, text_of
from timeball.api.http.problems import ENOUGH_ERRORS, FieldError, ProblemError, invalid, shortened
from timeball.api.http.request_model import unknown_name
from timeball.domain.model.ids import JOB_ID
from timeball.domain.time.instants import LATEST, parse_instant

PAGE: Final = ("limit", "cursor")
"""The parameters of every list."""
DEFAULT_LIMIT: Final = 50
MAX_LIMIT: Final = 200
MOST_OF_A_GRAPH: Final = 1_000
"""The largest and the default limit of a page of a graph: most graphs are on one page."""
NEXT_CURSOR: Final = "Where the next page begins, as `cursor`; null: this is the last page."

Position = Sequence[object]
"""Where a page ended: the instant, the id and the number that say it. Their texts have no spaces."""
Part = Callable[[str], Any]
"""Reads one part of a position; None if the text is none."""

AnyAnswer = TypeVar("AnyAnswer", bound=AnswerModel)
Item = TypeVar("Item")

_DIGEST_BYTES: Final = 9


def cursor_of(query: Sequence[object], position: Position) -> str:
    """Return the cursor that continues a query after a position."""
    text = " ".join(map(str, position))
    digest = hashlib.blake2b("\x1f".join(map(str, (*query, text))).encode(), digest_size=_DIGEST_BYTES).digest()
    return base64.urlsafe_b64encode(digest + text.encode()).decode().rstrip("=")


def position_in(cursor: str, query: Sequence[object], *parts: Part) -> tuple[Any, ...]:
    """Return the position in a cursor, each part as read. Raises ProblemError for a cursor of another query."""
    try:
        raw = base64.urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        texts = raw[_DIGEST_BYTES:].decode("ascii").split(" ")
    except (binascii.Error, UnicodeError):
        raise foreign_cursor() from None
    if len(texts) != len(parts) or cursor_of(query, texts) != cursor:
        raise foreign_cursor()
    position = tuple(part(text) for part, text in zip(parts, texts, strict=True))
    if None in position:
        raise foreign_cursor()
    return position


def foreign_cursor() -> ProblemError:
    """Return the problem for a cursor that no answer to this query had."""
    return invalid([FieldError("cursor", "Give the nextCursor of an answer to the same query, or leave it out.")])


def number(text: str) -> int | None:
    """Read an instant (ms) or another number in a position."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 14 and int(text) < LATEST else None


def text_like(pattern: re.Pattern[str]) -> Part:
    """Return the function that reads a text of a pattern in a position."""
    return lambda text: text if pattern.fullmatch(text) else None


identifier = text_like(JOB_ID)
"""Reads an id in the form of a job id, as most resources have."""


class PageQuery:
    """The query string of a list. Bad values and unknown names are collected in `errors` until `after` is called."""

    def __init__(self, request: Request, most: int = MAX_LIMIT, default: int = DEFAULT_LIMIT) -> None:
        self._values = request.query
        given = sorted(pair for pair in request.parameters_given() if pair[0] not in PAGE)
        self._query = (request.route, request.tenant, *request.path.values(), *given)
        known = request.parameters
        unknown = (name for name in self._values if name not in known)
        self.errors = [
            FieldError(shortened(name), unknown_name("parameter", name, known))
            for name in islice(unknown, ENOUGH_ERRORS)
        ]
        self.limit = self._limit(most, default)

    def instant(self, name: str) -> int | None:
        """Return an instant (ms), or None if it is not given."""
        text = self._values.get(name)
        if text is None:
            return None
        try:
            return parse_instant(text.replace(" ", "+"))  # an offset's plus sign that was not percent-encoded
        except ValueError as bad:
            self.errors.append(FieldError(name, str(bad)))
            return None

    def window(self) -> tuple[int | None, int | None]:
        """Return the instants of `from` and `to` (ms), each None if it is not given."""
        from_at, to_at = self.instant("from"), self.instant("to")
        if from_at is not None and to_at is not None and to_at < from_at:
            self.errors.append(FieldError("to", "This is before from; give a later time."))
        return from_at, to_at

    def text(self, name: str, pattern: re.Pattern[str], advice: str) -> str | None:
        """Return a text of a pattern, or None if it is not given."""
        text = self._values.get(name)
        if text is not None and not pattern.fullmatch(text):
            self.errors.append(FieldError(name, advice))
        return text

    def choice(self, name: str, known: Sequence[str]) -> str | None:
        """Return a parameter that is one of the known values, or None if it is not given."""
        text = self._values.get(name)
        if text is None or text in known:
            return text
        either = f"Give one of {', '.join(known)}." if len(known) > 1 else f"Give {known[0]}, or leave this out."
        self.errors.append(FieldError(name, either))
        return None

    def choices(self, name: str, known: Sequence[str]) -> frozenset[str]:
        """Return the values of a parameter that are separated by commas; empty if it is not given."""
        if name not in self._values:
            return frozenset()
        given = frozenset(self._values[name].split(","))
        if not given <= frozenset(known):
            self.errors.append(FieldError(name, f"Give one or more of {', '.join(known)}, separated by commas."))
        return given & frozenset(known)

    def after(self, *parts: Part) -> tuple[Any, ...] | None:
        """Return the position at which the page before ended; None for the first page.

        Raises ProblemError that names every bad parameter, or the cursor if it is of another query.
        """
        if self.errors:
            raise invalid(self.errors)
        cursor = self._values.get("cursor")
        return position_in(cursor, self._query, *parts) if cursor else None

    def page(
        self,
        edge: ApiContext,
        shown: Iterable[tuple[AnswerModel, Position]],
        next_after: Position | None,
        **more: str | None,
    ) -> Reply:
        """Return a page of answers, each given with its position; `next_after` continues after the last one.

        `more` are further members of the page, which do not change its ETag.

        The page ends early before it exceeds the bytes that Lambda sends; it has at least one item, so every list comes
        to its end. Bytes are counted as text within JSON, where a quote or a letter takes up to six bytes.
        """
        texts: list[str] = []
        size = 0
        last: Position | None = None
        for answer, position in shown:
            text = text_of(answer)
            size += _sent_bytes(text)
            if texts and size > edge.page_bytes:
                return self._page(texts, last, more)
            texts.append(text)
            last = position
        return self._page(texts, next_after, more)

    def first(
        self,
        edge: ApiContext,
        items: Sequence[Item],
        answer_of: Callable[[Item], AnswerModel],
        position_of: Callable[[Item], Position],
    ) -> Reply:
        """Return the page of the first items; the list continues if there are more than `limit`."""
        shown = items[: self.limit]
        next_after = position_of(shown[-1]) if len(items) > self.limit else None
        return self.page(edge, ((answer_of(one), position_of(one)) for one in shown), next_after)

    def cursor(self, next_after: Position | None) -> str | None:
        """Return the cursor that continues after a position; None: there is no more."""
        return None if next_after is None else cursor_of(self._query, next_after)

    def _limit(self, most: int, default: int) -> int:
        text = self._values.get("limit", str(default))
        limit = number(text)
        if limit is not None and 1 <= limit <= most and text == str(limit):
            return limit
        self.errors.append(FieldError("limit", f"This must be a whole number from 1 to {most}."))
        return default

    def _page(self, texts: Sequence[str], next_after: Position | None, more: Mapping[str, str | None]) -> Reply:
        page = f'{{"items":[{",".join(texts)}],"nextCursor":{json.dumps(self.cursor(next_after))}'
        members = "".join(f",{json.dumps(name)}:{json.dumps(value)}" for name, value in more.items())
        return Reply(200, f"{page}{members}}}", compared=f"{page}}}")


def tags_of(given: Sequence[str], errors: list[FieldError]) -> tuple[tuple[str, str], ...]:
    """Return the key and the value of each tag of a query; a key has no colon."""
    parts = [text.partition(":") for text in given]
    if not all(key and colon for key, colon, _ in parts):
        errors.append(FieldError("tag", "Give a key and a value separated by a colon, such as team:blue."))
    return tuple((key, value) for key, _, value in parts)


def fitting(answers: Iterable[AnyAnswer], most_bytes: int, least: int = 0) -> list[AnyAnswer]:
    """Return the first answers that together have at most `most_bytes`, as Lambda sends them; at least `least`."""
    found: list[AnyAnswer] = []
    for answer in answers:
        most_bytes -= _sent_bytes(text_of(answer))
        if most_bytes < 0 and len(found) >= least:
            break
        found.append(answer)
    return found


def _sent_bytes(text: str) -> int:
    return len(json.dumps(text))
