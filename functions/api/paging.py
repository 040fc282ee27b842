"""Query strings of lists: filters, limit, cursor. A cursor is bound to its tenant and query by a hash.

The hash keeps callers from mixing up their own cursors. It is no secret and grants nothing: what a cursor
says is used within the tenant and the job of the request only.
"""

import base64
import binascii
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from timeball.domain.backfill import Backfill
from timeball.domain.ids import JobKey, RunId
from timeball.domain.instants import parse_instant
from timeball.domain.run import RunState
from timeball.ports import LedgerQuery

from .problems import ENOUGH_ERRORS, FieldError, invalid, shortened
from .sentences import unknown_name

DEFAULT_LIMIT: Final = 50
MAX_LIMIT: Final = 200

RUN_PARAMETERS: Final = ("status", "from", "to", "limit", "cursor")

BACKFILL_PARAMETERS: Final = ("limit", "cursor")

_DIGEST_BYTES: Final = 9
FOREIGN: Final = FieldError("cursor", "Give the nextCursor of an answer to this very query, or leave it out.")


def ledger_query(job: JobKey, query: Mapping[str, str]) -> LedgerQuery:
    """Read the query string of a job's runs. Raises ProblemError that names every bad parameter."""
    reader = Reader(query)
    reader.refuse_unknown(RUN_PARAMETERS)
    asked = LedgerQuery(
        job=job,
        limit=reader.limit(),
        from_at=reader.instant("from"),
        to_at=reader.instant("to"),
        states=reader.states(),
    )
    if asked.from_at is not None and asked.to_at is not None and asked.to_at < asked.from_at:
        reader.errors.append(FieldError("to", "This lies before from; give a later time."))
    if reader.errors:
        raise invalid(reader.errors)
    if "cursor" not in query:
        return asked
    before = _read_cursor(asked, query["cursor"])
    if before is None:
        raise invalid([FOREIGN])
    return LedgerQuery(job, asked.limit, asked.from_at, asked.to_at, asked.states, before)


def next_cursor(query: LedgerQuery, before: RunId | None) -> str | None:
    """Return the text by which the next page of a query is asked for, or None at its end."""
    if before is None:
        return None
    states = ",".join(sorted(query.states))
    return cursor_of((query.job.tenant, query.from_at, query.to_at, states), str(before))


def _read_cursor(query: LedgerQuery, cursor: str) -> RunId | None:
    before = RunId.parse(query.job.tenant, position_in(cursor))
    is_own = before is not None and before.job == query.job and next_cursor(query, before) == cursor
    return before if is_own else None


@dataclass(frozen=True)
class BackfillPage:
    """A page of a job's backfills, newest first: so many of them, created before that one."""

    job: JobKey
    limit: int
    before: tuple[int, str] | None = None

    def of(self, backfills: Sequence[Backfill]) -> tuple[list[Backfill], str | None]:
        """Return the page of these backfills, and the cursor of the next one."""
        newest_first = sorted(backfills, key=_age, reverse=True)
        left = [one for one in newest_first if self.before is None or _age(one) < self.before]
        shown = left[: self.limit]
        return shown, self._cursor(*_age(shown[-1])) if len(left) > len(shown) else None

    def from_cursor(self, cursor: str) -> "BackfillPage | None":
        """Return the page that a cursor asks for, or None if it is none of this job's."""
        created_at, _, name = position_in(cursor).partition(".")
        if not (created_at.isdecimal() and created_at.isascii() and len(created_at) <= 15):
            return None
        before = (int(created_at), name)
        return BackfillPage(self.job, self.limit, before) if self._cursor(*before) == cursor else None

    def _cursor(self, created_at: int, name: str) -> str:
        return cursor_of((self.job.tenant, self.job.job_id, "backfills"), f"{created_at}.{name}")


def backfill_page(job: JobKey, query: Mapping[str, str]) -> BackfillPage:
    """Read the query string of a job's backfills. Raises ProblemError that names every bad parameter."""
    reader = Reader(query)
    reader.refuse_unknown(BACKFILL_PARAMETERS)
    page: BackfillPage | None = BackfillPage(job, reader.limit())
    if reader.errors:
        raise invalid(reader.errors)
    if page is not None and "cursor" in query:
        page = page.from_cursor(query["cursor"])
    if page is None:
        raise invalid([FOREIGN])
    return page


def _age(backfill: Backfill) -> tuple[int, str]:
    return backfill.created_at, backfill.key.name


def cursor_of(bound: Sequence[object], position: str) -> str:
    """Return the text that continues a list after a position: of the query that it is bound to, and no other."""
    text = "\x1f".join(map(str, (*bound, position)))
    digest = hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).digest()
    return base64.urlsafe_b64encode(digest + position.encode()).decode().rstrip("=")


def position_in(cursor: str) -> str:
    """Return the position that a cursor names, which counts only if its own text comes of it; nothing if it is none."""
    try:
        raw = base64.urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        return raw[_DIGEST_BYTES:].decode("ascii")
    except (binascii.Error, UnicodeError):
        return ""


class Reader:
    """Reads parameters one by one, keeping what is wrong with each in `errors`."""

    def __init__(self, query: Mapping[str, str]) -> None:
        self._query = query
        self.errors: list[FieldError] = []

    def refuse_unknown(self, known: tuple[str, ...]) -> None:
        """Keep each parameter that is none of the known ones."""
        unknown = (name for name in self._query if name not in known)
        self.errors += [
            FieldError(shortened(name), unknown_name("parameter", name, known))
            for name in islice(unknown, ENOUGH_ERRORS)
        ]

    def limit(self) -> int:
        """Return how long a page is to be."""
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

    def states(self) -> frozenset[RunState]:
        """Return the states of `status`, none of them if it is not given."""
        text = self._query.get("status")
        if text is None:
            return frozenset()
        known = {state.value: state for state in RunState}
        names = text.split(",")
        if any(name not in known for name in names):
            self.errors.append(FieldError("status", f"Give one or more of {', '.join(known)}, with commas between."))
            return frozenset()
        return frozenset(known[name] for name in names)
