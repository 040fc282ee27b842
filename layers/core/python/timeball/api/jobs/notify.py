"""Notices of a job's runs in requests and answers: which targets are called, and when."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, ConfigDict, Field, WrapValidator

from timeball.api.http.exchange import AnswerModel
from timeball.api.http.problems import FieldError
from timeball.api.http.request_model import Strict, misplaced, stated
from timeball.api.http.schema_rules import given, together
from timeball.api.targets.http import Url, read_over_notice
from timeball.api.targets.models import Target, TargetAnswer, as_listed, target_of
from timeball.domain.model.evolve import evolve
from timeball.domain.model.terms.notify import MOST_IN_A_ROW, Milestone, News, Notice, Notify
from timeball.domain.model.terms.target import Target as TargetValue
from timeball.domain.model.terms.target import is_followed
from timeball.domain.time.schedule import OnEvents, Schedule

LONGEST_SECONDS: Final = 2_592_000

NOTICE_TARGETS: Final = ("onFailure", "onRecovery", "onLate", "onBlocked", "onSuccess")
"""The events for which a target may be called."""

WHEN_NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
    "afterFailures": ("onFailure", "onRecovery"),
    "afterBlocked": ("onBlocked",),
    "lateAfterSeconds": ("onLate",),
    "deadlineSeconds": ("onLate",),
}
"""Fields that say when a target is called; each is only valid beside one of these targets."""
_NEEDS: Final[Mapping[str, tuple[str, ...]]] = {**WHEN_NEEDS, "onLate": ("lateAfterSeconds", "deadlineSeconds")}


def _not_given(*names: str) -> dict[str, Any]:
    return {"properties": {name: {"type": "null"} for name in names}}


_RULES: Final = [
    {"anyOf": [given(name) for name in NOTICE_TARGETS]},
    {"anyOf": [_not_given("afterFailures"), given("onFailure"), given("onRecovery")]},
    {"anyOf": [_not_given("afterBlocked"), given("onBlocked")]},
    {
        "anyOf": [
            _not_given("onLate", "lateAfterSeconds", "deadlineSeconds"),
            given("onLate", "lateAfterSeconds"),
            given("onLate", "deadlineSeconds"),
        ]
    },
]


def _called(targets: object) -> object:
    return {"type": "http", "url": targets} if isinstance(targets, str) else targets


NoticeTargetField = Annotated[
    Target, WrapValidator(read_over_notice), BeforeValidator(_called, json_schema_input_type=Url | Target)
]


class NotifyRequest(Strict):
    """Targets that are called once for each event, with a POST unless the target says otherwise.

    Placeholders in double braces are the fields of the notice: `{{jobId}}`, `{{reason}}`, `{{consoleUrl}}`.
    """

    model_config = ConfigDict(json_schema_extra=together(also=_RULES))

    on_failure: NoticeTargetField | None = Field(
        None, description="The target to call when runs fail for good or the job is blocked."
    )
    on_recovery: NoticeTargetField | None = Field(
        None, description="The target to call when a run succeeds after such failures."
    )
    on_late: NoticeTargetField | None = Field(
        None, description="The target to call when a run has not started or not succeeded in time."
    )
    on_blocked: NoticeTargetField | None = Field(
        None, description="The target to call when parents keep the job from running, run after run."
    )
    on_success: NoticeTargetField | None = Field(None, description="The target to call when a run succeeds.")
    after_failures: int | None = Field(
        None,
        ge=1,
        le=MOST_IN_A_ROW,
        description="The number of failed runs in a row that counts as a failure; default 1.",
    )
    after_blocked: int | None = Field(
        None,
        ge=1,
        le=MOST_IN_A_ROW,
        description="The number of runs in a row, stopped by parents, after which `onBlocked` is called; default 3.",
    )
    late_after_seconds: int | None = Field(
        None, ge=1, le=LONGEST_SECONDS, description="The seconds after its fire time within which a run must start."
    )
    deadline_seconds: int | None = Field(
        None, ge=1, le=LONGEST_SECONDS, description="The seconds after its fire time within which a run must succeed."
    )


class NotifyAnswer(AnswerModel):
    """Which targets are called, and when."""

    on_failure: TargetAnswer | None = Field(
        description="The target that is called when runs fail for good or the job is blocked."
    )
    on_recovery: TargetAnswer | None = Field(
        description="The target that is called when a run succeeds after such failures."
    )
    on_late: TargetAnswer | None = Field(
        description="The target that is called when a run has not started or not succeeded in time."
    )
    on_blocked: TargetAnswer | None = Field(
        description="The target that is called when parents keep the job from running, run after run."
    )
    on_success: TargetAnswer | None = Field(description="The target that is called when a run succeeds.")
    after_failures: int = Field(description="The number of failed runs in a row that counts as a failure.")
    after_blocked: int = Field(
        description="The number of runs in a row, stopped by parents, after which `onBlocked` is called."
    )
    late_after_seconds: int | None = Field(description="The seconds after its fire time within which a run must start.")
    deadline_seconds: int | None = Field(description="The seconds after its fire time within which a run must succeed.")


class NoticeAnswer(AnswerModel):
    """The content of a notice: the event, the job, and the run."""

    type: News = Field(description="The event that it reports.")
    job_id: str = Field(description="The job that it is about.")
    run_id: str | None = Field(description="The run that it is about; null if it is about the job.")
    unless: Milestone | None = Field(description="The notice is called only if the run has not come this far by then.")


def bad_notify(request: NotifyRequest | None) -> Iterator[FieldError]:
    """Yield what is wrong with the fields of `notify` together."""
    if request is None:
        return
    said = {name for name, value in request.model_dump(by_alias=True).items() if value is not None}
    if not said & set(NOTICE_TARGETS):
        yield FieldError("notify", f"Say what to call: give {', '.join(NOTICE_TARGETS[:-1])} or {NOTICE_TARGETS[-1]}.")
    for error in misplaced(said, _NEEDS):
        yield FieldError(f"notify.{error.field}", error.message)
    for name, targets in targets_of(notify_of(request)):
        if is_followed(targets):
            yield FieldError(f"notify.{name}.follow", "Leave this out: the execution of a notice is not followed.")


def notify_of(request: NotifyRequest | None) -> Notify | None:
    """Return the notices that a valid request asks for."""
    if request is None:
        return None
    fields = stated(request)
    fields |= {name: target_of(fields[name]) for name in _TARGETS if name in fields}
    return Notify(**fields)


_TARGETS: Final = ("on_failure", "on_recovery", "on_late", "on_blocked", "on_success")


def targets_of(notify: Notify | None) -> Iterator[tuple[str, TargetValue]]:
    """Yield the targets of notices, with the names of their fields."""
    for name, field in zip(NOTICE_TARGETS, _TARGETS, strict=True):
        target = getattr(notify, field, None)
        if target is not None:
            yield name, target


def default_for(notify: Notify | None, schedule: Schedule) -> Notify | None:
    """Return a tenant's default as a job with a schedule takes it; a job on events alone is never late."""
    if notify is None:
        return None
    if isinstance(schedule.timing, OnEvents):
        notify = evolve(notify, on_late=None, late_after_seconds=None, deadline_seconds=None)
    return evolve(notify, of_tenant=True) if any(targets_of(notify)) else None


def kept_default(notify: Notify | None) -> Notify | None:
    """Return a job's notices if they are its tenant's default; None if they are its own, or if it has none."""
    return notify if notify is not None and notify.of_tenant else None


def without_long_bodies(notify: Notify | None) -> Notify | None:
    """Return notices without long bodies of their targets."""
    if notify is None:
        return None
    targets: dict[str, Any] = {name: getattr(notify, name) for name in _TARGETS}
    listed: dict[str, Any] = {name: target and as_listed(target) for name, target in targets.items()}
    return evolve(notify, **listed)


def notice_answer(notice: Notice | None) -> NoticeAnswer | None:
    """Return the answer about what a notice reports; None for any other job."""
    if notice is None:
        return None
    run_id = None if notice.run is None else str(notice.run)
    return NoticeAnswer(type=notice.news, job_id=notice.job_id, run_id=run_id, unless=notice.milestone)
