"""Reports of a run's target on the attempt that called it: succeeded, failed, still at work, or items it names.

Other jobs have a run for each item that a run names.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Final, TypeVar

from pydantic import AfterValidator, ConfigDict, Field

from timeball.api.http.access import Access
from timeball.api.http.body import canonical, compact
from timeball.api.http.caller import check_attempt
from timeball.api.http.edge import ApiContext, no_run, run_id_in
from timeball.api.http.exchange import Reply, Request, idempotency_key, key_conflict, ok, read_body
from timeball.api.http.ids import fingerprint
from timeball.api.http.problems import FieldError, Problem, ProblemError, invalid
from timeball.api.http.request_model import Strict, read_fields
from timeball.api.http.route import Router
from timeball.api.http.schema_rules import needed
from timeball.api.runs.answers import HeartbeatAnswer, RunAnswer, run_answer
from timeball.domain.dependencies.fan_out import MAX_ITEMS_BYTES, item_text
from timeball.domain.model.runs.run import Run
from timeball.domain.model.runs.values import MAX_ITEMS
from timeball.domain.sharing.fairness import MOST_OF_A_REQUEST
from timeball.engine.runs.callback import Naming, Report, count_runs_of_each, heartbeat, name_items, report
from timeball.engine.runs.effects import Answered, Refusal
from timeball.engine.runs.fan_out import named_by

router = Router()

_OF_A_CALLBACK = (Problem.NO_CALLBACK_EXPECTED, Problem.STALE_ATTEMPT)

MAX_RESULT_BYTES: Final = 16 * 1024


def _result(result: object) -> object:
    size = len(compact(result).encode())
    if size > MAX_RESULT_BYTES:
        raise ValueError(
            f"The result has {size} bytes; at most {MAX_RESULT_BYTES} (16 KB) are allowed: store it elsewhere."
        )
    return result


class HeartbeatRequest(Strict):
    """A heartbeat for an attempt."""

    model_config = ConfigDict(json_schema_extra=needed("attempt"))

    attempt: int | None = Field(None, ge=1, description="The `Timeball-Attempt` header of the call; required.")


class CompleteRequest(HeartbeatRequest):
    """The report that an attempt has succeeded."""

    result: Annotated[Any, AfterValidator(_result)] = Field(
        None, description="The run's result: any JSON, at most 16 KB."
    )


class FailRequest(HeartbeatRequest):
    """The report that an attempt has failed."""

    error: str | None = Field(None, min_length=1, max_length=1000, description="Why, for people.")
    retriable: bool | None = Field(None, description="False: do not retry. Default true: the retry policy decides.")


def _items(items: list[Any]) -> list[Any]:
    size = sum(len(item_text(item)) for item in items)
    if size > MAX_ITEMS_BYTES:
        raise ValueError(f"The items have {size} bytes; at most {MAX_ITEMS_BYTES} (256 KB) are allowed.")
    return items


class FanOutRequest(HeartbeatRequest):
    """Items that an attempt names while it is under way."""

    model_config = ConfigDict(json_schema_extra=needed("attempt", "items"))

    items: Annotated[list[Any], Field(max_length=MAX_ITEMS), AfterValidator(_items)] | None = Field(
        None,
        description=(
            "The payloads, any JSON each, of the runs of jobs whose `forEach` names this run's job. At most "
            "1,000 items of 256 KB in all; required."
        ),
    )


_R = TypeVar("_R", bound=HeartbeatRequest)

_NO_ERROR_GIVEN = "The target reported that it failed."
_TOO_MANY = "With earlier items the run would have more than {}. None of these items was added."
_REFUSED: Final = {
    Refusal.NOT_EXPECTED: (
        Problem.NO_CALLBACK_EXPECTED,
        "The job of this run has completion answer, so only the target's answer to the call counts.",
    ),
    Refusal.STALE: (
        Problem.STALE_ATTEMPT,
        "Attempt {attempt} is not under way: the run is {run.state}, at attempt {run.attempt}; stop working on it.",
    ),
    Refusal.EXPIRED: (
        Problem.LEASE_EXPIRED,
        "Attempt {attempt} sent no heartbeat in time, and another may begin; stop working on it.",
    ),
    Refusal.TOO_MANY: (
        Problem.TOO_MANY_ITEMS,
        _TOO_MANY.format(f"{MAX_ITEMS} items; name fewer, or lists of them"),
    ),
    Refusal.TOO_LARGE: (
        Problem.TOO_MANY_ITEMS,
        _TOO_MANY.format("256 KB; name where the items are stored"),
    ),
}
"""The problem for each refusal of a report."""


@router.post(
    "/v1/runs/{runId}/complete",
    "Report, as the target of a callback run, that the attempt has succeeded",
    RunAnswer,
    body=CompleteRequest,
    problems=(*_OF_A_CALLBACK, Problem.TOO_MANY_ITEMS),
    access=Access.REPORT,
)
def complete_run(edge: ApiContext, request: Request) -> Reply:
    """Accept the target's report that the attempt has succeeded; a repeated report gets the same answer."""
    wanted, attempt = _read(CompleteRequest, request)
    body = compact(wanted.result) if "result" in wanted.model_fields_set else None
    reported = Report(run_id_in(request), attempt, body=body)
    answered = report(edge.context, [reported])[0]
    _check_runs(edge, answered)
    return ok(run_answer(_heard(answered, attempt)))


@router.post(
    "/v1/runs/{runId}/fail",
    "Report, as the target of a callback run, that the attempt has failed",
    RunAnswer,
    body=FailRequest,
    problems=_OF_A_CALLBACK,
    access=Access.REPORT,
)
def fail_run(edge: ApiContext, request: Request) -> Reply:
    """Accept the target's report that the attempt has failed; the retry policy decides what follows."""
    wanted, attempt = _read(FailRequest, request)
    may_retry = True if wanted.retriable is None else wanted.retriable
    reported = Report(run_id_in(request), attempt, wanted.error or _NO_ERROR_GIVEN, may_retry=may_retry)
    return ok(run_answer(_heard(report(edge.context, [reported])[0], attempt)))


@router.post(
    "/v1/runs/{runId}/heartbeat",
    "Report, as the target of a callback run, that it is still at work",
    HeartbeatAnswer,
    body=HeartbeatRequest,
    problems=(*_OF_A_CALLBACK, Problem.LEASE_EXPIRED),
    access=Access.REPORT,
)
def heartbeat_run(edge: ApiContext, request: Request) -> Reply:
    """Extend the attempt's lease; the answer says until when, and whether the target should stop."""
    _, attempt = _read(HeartbeatRequest, request)
    answered = heartbeat(edge.context, [(run_id_in(request), attempt)])[0]
    return ok(run_answer(_heard(answered, attempt), HeartbeatAnswer))


@router.post(
    "/v1/runs/{runId}/fan-out",
    "Name items, as the target of a run that is under way: other jobs have a run for each item",
    RunAnswer,
    body=FanOutRequest,
    headers=("Idempotency-Key",),
    problems=(Problem.STALE_ATTEMPT, Problem.TOO_MANY_ITEMS, Problem.IDEMPOTENCY_CONFLICT),
    access=Access.REPORT,
)
def fan_out_run(edge: ApiContext, request: Request) -> Reply:
    """Name items for which other jobs have a run each; a repeated list of the same attempt counts once."""
    wanted, given, errors = read_fields(FanOutRequest, read_body(request))
    errors += _missing(given)
    if "items" not in given and not any(error.field.startswith("items") for error in errors):
        errors.append(FieldError("items", 'Give a list of items, such as [{"file": "a.csv"}].'))
    key = idempotency_key(request, errors)
    if errors or wanted.attempt is None or wanted.items is None:
        raise invalid(errors)
    check_attempt(request, wanted.attempt)
    body = fingerprint(canonical(wanted.items))
    items = tuple(map(item_text, wanted.items))
    asked = Naming(run_id_in(request), wanted.attempt, items, body if key is None else fingerprint(key.encode()), body)
    answered = name_items(edge.context, [asked])[0]
    _check_runs(edge, answered)
    if answered[0] is Refusal.CONFLICT:
        raise key_conflict()
    return ok(run_answer(_heard(answered, wanted.attempt)))


def _check_runs(edge: ApiContext, answered: Answered) -> None:
    """Raise ProblemError if items were refused for the runs that they would make. A repeat would fare no better."""
    refusal, run = answered
    if refusal is not Refusal.TOO_MANY_RUNS or run is None:
        return
    jobs, named = count_runs_of_each(edge.context, run.id.job), len(named_by(edge.context, run).items)
    most = MOST_OF_A_REQUEST // max(jobs, 1)
    raise ProblemError(
        Problem.TOO_MANY_ITEMS,
        f"{jobs} jobs have a run for each item, and an attempt may ask for {MOST_OF_A_REQUEST:,} runs, so it may name "
        f"{most} items. It has named {named} before, and none of the new ones counts. Name fewer, or lists of them: "
        "the attempt is still under way.",
    )


def _read(model: type[_R], request: Request) -> tuple[_R, int]:
    """Return a valid request and its attempt. Raises ProblemError that names every error."""
    wanted, given, errors = read_fields(model, read_body(request))
    errors += _missing(given)
    if errors or wanted.attempt is None:
        raise invalid(errors)
    check_attempt(request, wanted.attempt)
    return wanted, wanted.attempt


def _missing(given: set[str]) -> Iterator[FieldError]:
    """Yield an error if a request names no attempt."""
    if "attempt" not in given:
        yield FieldError("attempt", "Name the attempt: give the Timeball-Attempt header of the call.")


def _heard(answered: Answered, attempt: int) -> Run:
    """Return the run after a report of its target. Raises ProblemError if the report was refused."""
    refusal, run = answered
    if run is None:
        raise no_run()
    if refusal in _REFUSED:
        problem, sentence = _REFUSED[refusal]
        raise ProblemError(problem, sentence.format(attempt=attempt, run=run))
    return run
