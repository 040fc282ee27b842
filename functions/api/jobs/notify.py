"""Who wants to be told of how a job's runs fare: what a request may say of that, and how it is told again."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, ConfigDict, Field

from functions.api.http.problems import FieldError
from functions.api.http.reply import Answer
from functions.api.http.request_model import Strict, misplaced
from functions.api.http.schema_rules import given, together
from functions.api.targets.answers import TargetAnswer, target_answer, target_document
from functions.api.targets.http import Url
from functions.api.targets.request import Target, target_of
from timeball.domain.model.terms import target as model
from timeball.domain.model.terms.notify import MOST_AFTER_FAILURES, Milestone, News, Notice, Notify

LONGEST_SECONDS: Final = 2_592_000

WHOM: Final = ("onFailure", "onRecovery", "onLate", "onSuccess")
"""Who may be told."""

WHEN_NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
    "afterFailures": ("onFailure", "onRecovery"),
    "lateAfterSeconds": ("onLate",),
    "deadlineSeconds": ("onLate",),
}
"""When they are told, which means something only beside one of them."""
_NEEDS: Final[Mapping[str, tuple[str, ...]]] = {**WHEN_NEEDS, "onLate": ("lateAfterSeconds", "deadlineSeconds")}


def _not_given(*names: str) -> dict[str, Any]:
    return {"properties": {name: {"type": "null"} for name in names}}


_RULES: Final = [
    {"anyOf": [given(name) for name in WHOM]},
    {"anyOf": [_not_given("afterFailures"), given("onFailure"), given("onRecovery")]},
    {
        "anyOf": [
            _not_given("onLate", "lateAfterSeconds", "deadlineSeconds"),
            given("onLate", "lateAfterSeconds"),
            given("onLate", "deadlineSeconds"),
        ]
    },
]


def _called(whom: object) -> object:
    return {"type": "http", "url": whom} if isinstance(whom, str) else whom


Whom = Annotated[Target, BeforeValidator(_called, json_schema_input_type=Url | Target)]


class NotifyRequest(Strict):
    """Who is called, with a POST unless the target says otherwise, when something is news. Each once."""

    model_config = ConfigDict(json_schema_extra=together(also=_RULES))

    on_failure: Whom | None = Field(None, description="Called when runs fail for good, or the job is blocked.")
    on_recovery: Whom | None = Field(None, description="Called when a run succeeds after such failures.")
    on_late: Whom | None = Field(None, description="Called when a run has not started, or not succeeded, in time.")
    on_success: Whom | None = Field(None, description="Called when a run succeeds.")
    after_failures: int | None = Field(
        None, ge=1, le=MOST_AFTER_FAILURES, description="So many runs in a row that fail are a failure; default 1."
    )
    late_after_seconds: int | None = Field(
        None, ge=1, le=LONGEST_SECONDS, description="A run is late that has not started so long after its fire time."
    )
    deadline_seconds: int | None = Field(
        None, ge=1, le=LONGEST_SECONDS, description="A run is late that has not succeeded so long after its fire time."
    )


class NotifyAnswer(Answer):
    """Who is told, and when."""

    on_failure: TargetAnswer | None
    on_recovery: TargetAnswer | None
    on_late: TargetAnswer | None
    on_success: TargetAnswer | None
    after_failures: int
    late_after_seconds: int | None
    deadline_seconds: int | None


class NoticeAnswer(Answer):
    """What a notice tells: of which job, and of which of its runs."""

    type: News
    job_id: str
    run_id: str | None
    unless: Milestone | None = Field(description="It is called only if the run has not come so far by then.")


def bad_notify(request: NotifyRequest | None) -> Iterator[FieldError]:
    """Validate what is said of notices together."""
    if request is None:
        return
    said = {name for name, value in request.model_dump(by_alias=True).items() if value is not None}
    if not said & set(WHOM):
        yield FieldError("notify", f"Say whom to call: give {', '.join(WHOM[:-1])} or {WHOM[-1]}.")
    for error in misplaced(said, _NEEDS):
        yield FieldError(f"notify.{error.field}", error.message)
    for name, whom in targets_of(notify_of(request)):
        if model.is_followed(whom):
            yield FieldError(f"notify.{name}.follow", "Leave this out: a notice is handed over, and not followed.")


def notify_of(request: NotifyRequest | None) -> Notify | None:
    """Return what a faultless request asks for."""
    if request is None:
        return None
    return Notify(
        on_failure=_whom(request.on_failure),
        on_recovery=_whom(request.on_recovery),
        on_late=_whom(request.on_late),
        on_success=_whom(request.on_success),
        after_failures=request.after_failures or Notify.after_failures,
        late_after_seconds=request.late_after_seconds,
        deadline_seconds=request.deadline_seconds,
    )


def targets_of(notify: Notify | None) -> Iterator[tuple[str, model.Target]]:
    """Yield whom it calls, by the names of the fields."""
    if notify is not None:
        whom = (notify.on_failure, notify.on_recovery, notify.on_late, notify.on_success)
        yield from ((name, target) for name, target in zip(WHOM, whom, strict=True) if target is not None)


def notify_document(notify: Notify | None) -> dict[str, Any] | None:
    """Return the request that asks for it."""
    if notify is None:
        return None
    said = {
        "afterFailures": notify.after_failures if notify.watches_streaks else None,
        "lateAfterSeconds": notify.late_after_seconds,
        "deadlineSeconds": notify.deadline_seconds,
    }
    whom = {name: target_document(target) for name, target in targets_of(notify)}
    return {**whom, **{name: value for name, value in said.items() if value is not None}}


def notify_answer(notify: Notify | None, *, is_listed: bool = False) -> NotifyAnswer | None:
    """Return the answer about it."""
    if notify is None:
        return None
    return NotifyAnswer(
        on_failure=_whom_answer(notify.on_failure, is_listed=is_listed),
        on_recovery=_whom_answer(notify.on_recovery, is_listed=is_listed),
        on_late=_whom_answer(notify.on_late, is_listed=is_listed),
        on_success=_whom_answer(notify.on_success, is_listed=is_listed),
        after_failures=notify.after_failures,
        late_after_seconds=notify.late_after_seconds,
        deadline_seconds=notify.deadline_seconds,
    )


def notice_answer(notice: Notice | None) -> NoticeAnswer | None:
    """Return the answer about what a job tells of another, if it is a notice."""
    if notice is None:
        return None
    run_id = None if notice.run is None else str(notice.run)
    return NoticeAnswer(type=notice.news, job_id=notice.job_id, run_id=run_id, unless=notice.milestone)


def _whom(target: Target | None) -> model.Target | None:
    return None if target is None else target_of(target)


def _whom_answer(target: model.Target | None, *, is_listed: bool) -> TargetAnswer | None:
    return None if target is None else target_answer(target, is_listed=is_listed)
