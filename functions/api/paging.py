"""Query strings of lists: filters, limit, cursor. A cursor is bound to its tenant and query by a hash.

The hash keeps callers from mixing up their own cursors. It is no secret and grants nothing: what a cursor
says is used within the tenant and the job of the request only.
"""

import base64
import binascii
import hashlib
from collections.abc import Mapping
from typing import Final

from timeball.domain.ids import JobKey, RunId
from timeball.domain.instants import parse_instant
from timeball.domain.run import RunState
from timeball.ports import LedgerQuery

from .problems import FieldError, invalid
from .sentences import unknown_field

DEFAULT_LIMIT: Final = 50
MAX_LIMIT: Final = 200

RUN_PARAMETERS: Final = ("status", "from", "to", "limit", "cursor")

_DIGEST_BYTES: Final = 9


def ledger_query(job: JobKey, query: Mapping[str, str]) -> LedgerQuery:
    """Read the query string of a job's runs. Raises ProblemError that names every bad parameter."""
    reader = _Reader(query)
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
        raise invalid([FieldError("cursor", "Give the nextCursor of an answer to this very query, or leave it out.")])
    return LedgerQuery(job, asked.limit, asked.from_at, asked.to_at, asked.states, before)


def next_cursor(query: LedgerQuery, before: RunId | None) -> str | None:
    """Return the text by which the next page of a query is asked for, or None at its end."""
    if before is None:
        return None
    states = ",".join(sorted(query.states))
    bound = "\x1f".join(map(str, (query.job.tenant, query.from_at, query.to_at, states, before)))
    digest = hashlib.blake2b(bound.encode(), digest_size=_DIGEST_BYTES).digest()
    return base64.urlsafe_b64encode(digest + str(before).encode()).decode().rstrip("=")


def _read_cursor(query: LedgerQuery, cursor: str) -> RunId | None:
    try:
        raw = base64.urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        before = RunId.parse(query.job.tenant, raw[_DIGEST_BYTES:].decode("ascii"))
    except (binascii.Error, UnicodeError):
        return None
    is_own = before is not None and before.job == query.job and next_cursor(query, before) == cursor
    return before if is_own else None


class _Reader:
    """Reads parameters one by one, keeping what is wrong with each."""

    def __init__(self, query: Mapping[str, str]) -> None:
        self._query = query
        self.errors: list[FieldError] = []

    def refuse_unknown(self, known: tuple[str, ...]) -> None:
        self.errors += [FieldError(name, unknown_field(name, known)) for name in self._query if name not in known]

    def limit(self) -> int:
        text = self._query.get("limit", str(DEFAULT_LIMIT))
        if text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= MAX_LIMIT:
            return int(text)
        self.errors.append(FieldError("limit", f"This must be a whole number from 1 to {MAX_LIMIT}."))
        return DEFAULT_LIMIT

    def instant(self, name: str) -> int | None:
        text = self._query.get(name)
        if text is None:
            return None
        try:
            return parse_instant(text.replace(" ", "+"))  # an offset's plus sign that was not percent-encoded
        except ValueError as bad:
            self.errors.append(FieldError(name, str(bad)))
            return None

    def states(self) -> frozenset[RunState]:
        text = self._query.get("status")
        if text is None:
            return frozenset()
        known = {state.value: state for state in RunState}
        names = text.split(",")
        if any(name not in known for name in names):
            self.errors.append(FieldError("status", f"Give one or more of {', '.join(known)}, with commas between."))
            return frozenset()
        return frozenset(known[name] for name in names)
