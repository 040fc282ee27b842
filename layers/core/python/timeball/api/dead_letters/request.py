"""Which dead letters a request is about, by a filter or by run ids, and where a list continues.

A cursor is bound to its tenant, its action and its filter. The cursor of a replay or a discard also contains the moment
of the first request: later dead letters are excluded, so that the series of requests ends although a replayed run may
fail again. It also contains when the next replay starts, so that the pace is kept across requests.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Final

from pydantic import ConfigDict, Field

from timeball.api.http.body import compact
from timeball.api.http.cursor import PageQuery, cursor_of, number, position_in
from timeball.api.http.exchange import Request, idempotency_key, read_body
from timeball.api.http.fields import Checked, Instant, JobId, TaskId
from timeball.api.http.problems import FieldError, invalid
from timeball.api.http.request_model import Strict, aliases, misplaced, read_fields, stated
from timeball.api.http.schema_rules import together
from timeball.domain.model.ids import RUN_ID, JobKey, RunId
from timeball.domain.model.reason import FAILURES, Reason
from timeball.domain.time.instants import LATEST
from timeball.engine.runs.attempts import INLINE_BYTES
from timeball.engine.runs.dead_letters import DeadFilter, Position

_REASONS: Final = [reason.value for reason in FAILURES]


RunIdText = Annotated[
    str,
    Checked(partial(RunId.parse, ""), "No run can have this id; give the runId of an answer.", pattern=f"^{RUN_ID}$"),
]
ReasonText = Annotated[str, Checked(_REASONS.__contains__, f"Give one of {', '.join(_REASONS)}.", enum=_REASONS)]

Fingerprint = Annotated[str, Field(min_length=1, max_length=64)]

MAX_NAMED: Final = 100
MAX_MATCHED: Final = 1_000
PER_SECOND: Final = 10
ERROR_CHARACTERS: Final = INLINE_BYTES
"""A run's row has so many bytes of an attempt's error, which a filter searches."""


_CHOICE: Final = ("runIds", "filter", "fingerprint")
_OF_A_FILTER: Final = dict.fromkeys(("limit", "cursor"), ("filter", "fingerprint"))


class DeadLetterFilter(Strict):
    """Which dead letters; a field that is not given matches all."""

    job_id: JobId | None = Field(None, description="Only runs of this job.")
    task_id: TaskId | None = Field(None, description="Only runs whose job named this task.")
    reason: ReasonText | None = Field(None, description="Only runs with this reason.")
    error: str | None = Field(
        None,
        min_length=1,
        max_length=ERROR_CHARACTERS,
        description="Text that the last attempt's error contains, in upper or lower case.",
    )
    fingerprint: Fingerprint | None = Field(
        None, description="Only runs of the group with this fingerprint, of GET /v1/dead-letters:groups."
    )
    from_at: Instant | None = Field(None, alias="from", description="Only runs that failed at this time or later.")
    to_at: Instant | None = Field(None, alias="to", description="Only runs that failed at this time or earlier.")


class DiscardRequest(Strict):
    """Dead letters, by run ids, by a filter or by the fingerprint of a group."""

    model_config = ConfigDict(json_schema_extra=together(one_of=_CHOICE, exclusive=[_CHOICE], beside=_OF_A_FILTER))

    run_ids: list[RunIdText] | None = Field(
        None,
        min_length=1,
        max_length=MAX_NAMED,
        description="The ids of the runs.",
    )
    filter: DeadLetterFilter | None = Field(None, description="All that match, the oldest first; `{}` matches all.")
    fingerprint: Fingerprint | None = Field(
        None, description="All of the group with this fingerprint, the oldest first; a 404 if there is none."
    )
    limit: int | None = Field(
        None,
        ge=1,
        le=MAX_MATCHED,
        description=f"Without `runIds`, the most dead letters of this request; default {MAX_MATCHED}.",
    )
    cursor: str | None = Field(
        None,
        description=(
            "Without `runIds`, the `nextCursor` of the answer before; all other fields but `limit` must be the same."
        ),
    )


class ReplayRequest(DiscardRequest):
    """Dead letters, by run ids, by a filter or by the fingerprint of a group, and how fast they start."""

    per_second: int | None = Field(
        None, ge=1, le=1000, description=f"The most runs that start in a second; default {PER_SECOND}."
    )


@dataclass(frozen=True)
class Selection:
    """The dead letters of a replay or a discard: runs by id, or a page of those that match a filter."""

    verb: str
    """The action; part of the cursor."""
    per_second: int
    """The pace of a replay; part of the cursor."""
    ids: tuple[RunId, ...] = ()
    """The runs, if the request names them."""
    asked: DeadFilter | None = None
    """The filter, if the request has one."""
    limit: int = MAX_MATCHED
    after: Position | None = None
    """The position after which the page begins."""
    until_at: int = LATEST
    """The moment of the first request (ms)."""
    start_at: int | None = None
    """When the next replay starts (ms)."""

    @property
    def within(self) -> DeadFilter | None:
        """Return the filter, limited to what had failed at the first request."""
        return self.asked and replace(self.asked, to_at=min(self.asked.to_at, self.until_at))

    def next_cursor(self, after: Position | None, start_at: int | None) -> str | None:
        """Return the cursor that continues after a position; None at the end."""
        if after is None or self.asked is None:
            return None
        return cursor_of(self.query, (self.until_at, start_at or 0, *after))

    @property
    def query(self) -> tuple[object, ...]:
        """Return what a cursor is bound to."""
        if self.asked is None:
            return ()
        job_id = None if self.asked.job is None else self.asked.job.job_id
        given = (job_id, self.asked.task_id, self.asked.reason, self.asked.error, self.asked.from_at, self.asked.to_at)
        group = () if self.asked.fingerprint is None else (self.asked.fingerprint,)
        return (compact([self.verb, self.per_second, self.asked.tenant, *given, *group]),)


def read_filter(request: Request, asked: PageQuery) -> DeadFilter:
    """Read the filters of a list."""
    times = {name: request.query[name].replace(" ", "+") for name in ("from", "to") if name in request.query}
    named = {name: request.query[name] for name in aliases(DeadLetterFilter) if name in request.query}
    wanted, _, errors = read_fields(DeadLetterFilter, {**named, **times})
    asked.errors += [*errors, *_bad_window(wanted, "to")]
    return _filter(request.tenant, wanted)


def read_choice(verb: str, model: type[DiscardRequest], request: Request, now: int) -> Selection:
    """Validate a body and its Idempotency-Key at an instant (ms). Raises ProblemError that names every error."""
    wanted, given, errors = read_fields(model, read_body(request))
    errors += _together(wanted, given)
    if idempotency_key(request, errors) is not None and "limit" in given:
        # With a limit, a repeat would deal with the next dead letters.
        sentence = (
            "Leave out limit or the Idempotency-Key: the same request again would deal with further dead letters."
        )
        errors.append(FieldError("limit", sentence))
    if errors:
        raise invalid(errors)
    pace = wanted.per_second if isinstance(wanted, ReplayRequest) else None
    chosen = Selection(verb, pace or PER_SECOND, until_at=now)
    if wanted.run_ids is not None:
        return replace(chosen, ids=_run_ids(request.tenant, wanted.run_ids))
    group = DeadFilter(request.tenant, fingerprint=wanted.fingerprint)
    asked = group if wanted.filter is None else _filter(request.tenant, wanted.filter)
    chosen = replace(chosen, asked=asked, limit=wanted.limit or MAX_MATCHED)
    return chosen if wanted.cursor is None else _choice_from(chosen, request.tenant, wanted.cursor)


def _run_ids(tenant: str, texts: Iterable[str]) -> tuple[RunId, ...]:
    return tuple(run_id for text in texts if (run_id := RunId.parse(tenant, text)) is not None)


def _together(wanted: DiscardRequest, given: set[str]) -> Iterator[FieldError]:
    chosen = [name for name in _CHOICE if name in given]
    if len(chosen) > 1:
        yield FieldError(chosen[0], f"Give either {' or '.join(chosen)}, not both.")
    if not chosen:
        sentence = "Say which dead letters: give runIds, a fingerprint, or filter; an empty filter, {}, matches all."
        yield FieldError("runIds", sentence)
    yield from misplaced(given, _OF_A_FILTER)
    if wanted.filter is not None:
        yield from _bad_window(wanted.filter, "filter.to")


def _bad_window(wanted: DeadLetterFilter, field: str) -> Iterator[FieldError]:
    if wanted.from_at is not None and wanted.to_at is not None and wanted.to_at < wanted.from_at:
        yield FieldError(field, "This is before from; give a later time.")


def _filter(tenant: str, wanted: DeadLetterFilter) -> DeadFilter:
    return DeadFilter(
        tenant,
        job=None if wanted.job_id is None else JobKey(tenant, wanted.job_id),
        reason=None if wanted.reason is None else Reason(wanted.reason),
        **stated(wanted, "task_id", "error", "fingerprint", "from_at", "to_at"),
    )


def _choice_from(chosen: Selection, tenant: str, cursor: str) -> Selection:
    run_of = partial(RunId.parse, tenant)
    until_at, start_at, *after = position_in(cursor, chosen.query, number, number, number, run_of)
    return replace(chosen, until_at=until_at, start_at=start_at, after=(after[0], after[1]))
