"""Create, list, read and lift freezes. A freeze that has ended is only listed, among those that are over."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field

from timeball.api.http.access import Access
from timeball.api.http.cursor import PAGE, PageQuery, identifier, number
from timeball.api.http.edge import ApiContext, note
from timeball.api.http.exchange import (
    AnswerModel,
    CreatedAt,
    NextCursor,
    Reply,
    Request,
    Time,
    attribute,
    created,
    idempotency_key,
    key_conflict,
    ok,
    read_body,
    refuse_fields,
)
from timeball.api.http.fields import Checked, Instant, Name, Tags
from timeball.api.http.ids import NewId
from timeball.api.http.problems import FieldError, Problem, ProblemError, invalid, not_found
from timeball.api.http.request_model import Strict, read_fields, stated
from timeball.api.http.route import Router
from timeball.api.http.schema_rules import needed, together
from timeball.api.schedules.upcoming import MOST_DAYS, UpcomingAnswer, shown_fire
from timeball.api.targets.http import TaskId
from timeball.domain.model.ids import JOB_ID
from timeball.domain.model.jobs.freeze import BEGINS_AFTER_MS, MAX_FREEZES, MAX_SIZE, Freeze, FreezeMatch
from timeball.domain.model.tenants.actor import Action, Resource, ResourceKind
from timeball.domain.time.instants import DAY_MS
from timeball.engine.blackouts import freezes as engine
from timeball.engine.blackouts.freezes import FreezeOutcome, freezes_of, over_freezes
from timeball.engine.scheduling.upcoming import Window, held_by

router = Router()

MAX_JOB_IDS: Final = 100
_MOST_SHOWN: Final = 100
_MAX_TAGS: Final = 10
_WHICH: Final = 'Say which jobs: give tags, taskId, jobIds, or {"all": true}.'
_NULL: Final = {"type": "null"}


_NO_JOB: Final = "No job can have this id; give 1 to 64 letters, digits, - or _."

_JobId = Annotated[str, Checked(JOB_ID.fullmatch, _NO_JOB, pattern=f"^{JOB_ID.pattern}$")]

_NOT_ALL: Final = {"all": {"enum": [False, None]}}
_SOME_JOBS: Final = {
    "anyOf": [
        {
            "required": ["all"],
            "properties": {"all": {"const": True}, "jobIds": _NULL, "taskId": _NULL, "tags": {"maxProperties": 0}},
        },
        {"required": ["jobIds"], "properties": {**_NOT_ALL, "jobIds": {"type": "array"}}},
        {"required": ["taskId"], "properties": {**_NOT_ALL, "taskId": {"type": "string"}}},
        {"required": ["tags"], "properties": {**_NOT_ALL, "tags": {"type": "object", "minProperties": 1}}},
    ]
}
_FEW_TAGS: Final = {"properties": {"tags": {"maxProperties": _MAX_TAGS}}}


class FreezeMatchField(Strict):
    """Which jobs: all jobs, or those for which every given field holds."""

    model_config = ConfigDict(json_schema_extra=together(also=[_SOME_JOBS, _FEW_TAGS]))

    everything: bool | None = Field(None, alias="all", description="True: every job; then the only field.")
    job_ids: list[_JobId] | None = Field(None, min_length=1, max_length=MAX_JOB_IDS, description="Jobs by their ids.")
    task_id: TaskId | None = Field(None, description="Jobs that name this task.")
    tags: Tags | None = Field(None, description=f"Jobs that have all of these tags; at most {_MAX_TAGS}.")


class FreezeRequest(Strict):
    """A freeze: fires of the jobs that match do not start during this time."""

    model_config = ConfigDict(json_schema_extra=needed("match"))

    from_at: Instant | None = Field(None, alias="from", description="When it begins; default: at once.")
    to_at: Instant | None = Field(None, alias="to", description="When it ends; null: when it is lifted.")
    match: FreezeMatchField | None = Field(None, description="Which jobs it freezes.")
    reason: Name | None = Field(None, description="Why, for people.")


class MatchAnswer(AnswerModel):
    """Which jobs a freeze matches."""

    everything: bool = Field(serialization_alias="all", description="Whether it matches every job.")
    job_ids: list[str] = Field(description="The ids of the jobs; empty: any job.")
    task_id: str | None = Field(description="The task that the jobs name.")
    tags: Mapping[str, str] = Field(description="The tags that the jobs have, all of them.")


class FreezeAnswer(AnswerModel):
    """A freeze: scheduled, in force or over."""

    freeze_id: str = attribute("name", description="The id of the freeze.")
    status: Literal["scheduled", "active", "lifted", "over"] = Field(
        description=(
            "`scheduled` before it begins, `active` after; then `lifted` if a request ended it, which includes the "
            "answer to that request, otherwise `over`."
        )
    )
    from_at: Time = Field(
        serialization_alias="from", description="When it begins, some seconds after its creation at the earliest."
    )
    to_at: Time | None = Field(serialization_alias="to", description="When it ends; null: when it is lifted.")
    match: MatchAnswer = Field(description="Which jobs it freezes.")
    reason: str | None = Field(description="Why, for people.")
    created_at: CreatedAt


class FreezePageAnswer(AnswerModel):
    """A page of the freezes that are not over, or of those that are, the newest first."""

    items: list[FreezeAnswer] = Field(description="The freezes.")
    next_cursor: NextCursor


@router.post(
    "/v1/freezes",
    "Freeze jobs: their fires do not start for a time, or until the freeze is lifted",
    FreezeAnswer,
    status=201,
    body=FreezeRequest,
    headers=("Idempotency-Key",),
    problems=(Problem.TOO_MANY_FREEZES, Problem.IDEMPOTENCY_CONFLICT),
    access=Access.OPERATE,
)
def create_freeze(edge: ApiContext, request: Request) -> Reply:
    """Freeze jobs; answer when every process knows the freeze, so that no matching run starts in it from then on."""
    now, body = edge.context.clock.now(), read_body(request)
    wanted, given, errors = read_fields(FreezeRequest, body)
    said = {*given, *(error.field.split(".")[0] for error in errors)}
    errors += [*_bad_times(wanted, now), *_bad_match(wanted.match, said)]
    key = idempotency_key(request, errors)
    if errors:
        raise invalid(errors)
    name = NewId.FREEZE.of(request.tenant, key, edge.random_bytes)
    note(edge, request, Action.CREATE, Resource(ResourceKind.FREEZE, name))
    made = engine.create_freeze(edge.context, request.tenant, _freeze(wanted, name, now))
    if made.outcome is FreezeOutcome.CONFLICT:
        raise key_conflict()
    if made.outcome is FreezeOutcome.TOO_MANY:
        raise ProblemError(
            Problem.TOO_MANY_FREEZES,
            f"With this you would have more than {MAX_FREEZES} freezes, or their ids, tags and reasons more than "
            f"{MAX_SIZE // 1000} KB; lift one that you no longer need.",
        )
    known_at = edge.context.clock.now() + BEGINS_AFTER_MS
    if made.freeze.from_at <= known_at:
        edge.wait_until(known_at)
    is_repeated = key is not None and made.outcome is FreezeOutcome.REPEATED
    answer = freeze_answer(made.freeze, edge.context.clock.now())
    return created(answer, f"/v1/freezes/{made.freeze.name}", is_repeated=is_repeated)


def _bad_times(wanted: FreezeRequest, now: int) -> Iterator[FieldError]:
    begins_at = max(wanted.from_at or now, now + BEGINS_AFTER_MS)
    if wanted.to_at is not None and wanted.to_at <= begins_at:
        seconds = BEGINS_AFTER_MS // 1000
        yield FieldError("to", f"This is not after the beginning, which is in {seconds} s or at from.")


def _bad_match(match: FreezeMatchField | None, said: set[str]) -> Iterator[FieldError]:
    if "match" not in said:
        yield FieldError("match", _WHICH)
    if match is None:
        return
    says_which = bool(match.job_ids or match.tags or match.task_id)
    if match.everything and says_which:
        yield FieldError("match.all", "This matches every job; give it alone, or leave it out.")
    if not (match.everything or says_which):
        yield FieldError("match", _WHICH)
    if len(match.tags or ()) > _MAX_TAGS:
        yield FieldError("match.tags", f"Give at most {_MAX_TAGS} tags.")


def _freeze(wanted: FreezeRequest, name: str, now: int) -> Freeze:
    match = stated(wanted.match)
    match["job_ids"] = tuple(sorted(set(match.get("job_ids", ()))))
    from_at = now if wanted.from_at is None else wanted.from_at
    return Freeze(name, from_at, wanted.to_at, FreezeMatch(**match), now, wanted.reason)


class HeldAnswer(AnswerModel):
    """The fires that a freeze would hold."""

    count: int = Field(description="How many of the next fires it would hold.")
    is_exact: bool = Field(description="False: there are more jobs or fires than a preview examines.")
    items: list[UpcomingAnswer] = Field(description="The first of these fires, as they would start without it.")


@router.post(
    "/v1/freezes:preview",
    "Show which fires a freeze would hold; nothing is stored",
    HeldAnswer,
    body=FreezeRequest,
    access=Access.READ,
)
def preview_freeze(edge: ApiContext, request: Request) -> Reply:
    """Show which fires a freeze would hold."""
    now = edge.context.clock.now()
    wanted, given, errors = read_fields(FreezeRequest, read_body(request))
    said = {*given, *(error.field.split(".")[0] for error in errors)}
    errors += [*_bad_times(wanted, now), *_bad_match(wanted.match, said)]
    if errors:
        raise invalid(errors)
    freeze = _freeze(wanted, "preview", now)
    to_at = min(freeze.span[1] - 1, now + MOST_DAYS * DAY_MS)
    window = Window(request.tenant, now, to_at, freeze.match.matches, freeze.match.job_ids)
    held = held_by(edge.context, window, freeze, _MOST_SHOWN)
    items = [shown_fire(one) for one in held.first]
    return ok(HeldAnswer(count=held.count, is_exact=held.is_exact, items=items))


@router.get(
    "/v1/freezes",
    "List the freezes that have not ended, or those that have, the newest first",
    FreezePageAnswer,
    query=("over", *PAGE),
    access=Access.READ,
)
def list_freezes(edge: ApiContext, request: Request) -> Reply:
    """List the freezes that have not ended, the newest first; with `over`, those that have."""
    asked, now = PageQuery(request), edge.context.clock.now()
    is_over = asked.choice("over", ("true", "false")) == "true"
    after = asked.after(number, identifier)
    if is_over:
        past = over_freezes(edge.context, request.tenant, asked.limit + 1, after)
        return asked.first(edge, past, _ended_answer, lambda one: one.order)
    found = freezes_of(edge.context, request.tenant).open_at(now)
    # The freeze at the cursor may have been lifted meanwhile; the next page then begins after its age.
    left = [one for one in found if after is None or (-one.created_at, one.name) > (-after[0], after[1])]
    return asked.first(edge, left, lambda one: freeze_answer(one, now), lambda one: (one.created_at, one.name))


@router.get("/v1/freezes/{freezeId}", "Read a freeze", FreezeAnswer, access=Access.READ)
def get_freeze(edge: ApiContext, request: Request) -> Reply:
    """Read a freeze that has not ended."""
    now = edge.context.clock.now()
    return ok(freeze_answer(_standing(edge, request, now), now))


@router.delete("/v1/freezes/{freezeId}", "Lift a freeze", FreezeAnswer, access=Access.OPERATE)
def lift_freeze(edge: ApiContext, request: Request) -> Reply:
    """Lift a freeze: the catch-up policy of each job decides about the fires that it missed."""
    refuse_fields(request)
    name = _standing(edge, request, edge.context.clock.now()).name
    note(edge, request, Action.DELETE, Resource(ResourceKind.FREEZE, name))
    lifted = engine.lift_freeze(edge.context, request.tenant, name)
    if lifted is None:
        raise _no_freeze()
    return ok(FreezeAnswer.about(lifted, status="lifted"))


def _standing(edge: ApiContext, request: Request, now: int) -> Freeze:
    """Return the freeze that the path names. Raises ProblemError if there is none, or it has ended."""
    for one in freezes_of(edge.context, request.tenant).open_at(now):
        if one.name == request.path["freezeId"]:
            return one
    raise _no_freeze()


def freeze_answer(freeze: Freeze, now: int) -> FreezeAnswer:
    """Return the answer about a freeze that is not over."""
    return FreezeAnswer.about(freeze, status="scheduled" if freeze.from_at > now else "active")


def _ended_answer(freeze: Freeze) -> FreezeAnswer:
    return FreezeAnswer.about(freeze, status="lifted" if freeze.is_lifted else "over")


def _no_freeze() -> ProblemError:
    return not_found("You have no freeze with this id, or it is over; list yours at /v1/freezes.")
