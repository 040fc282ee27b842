"""Items that a run names while its target works on it: other jobs have a run for each item."""

from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field

from timeball.api.http.access import Access
from timeball.api.http.body import canonical
from timeball.api.http.caller import check_attempt
from timeball.api.http.edge import ApiContext, run_id_in
from timeball.api.http.identity import fingerprint
from timeball.api.http.problems import FieldError, Problem, ProblemError, invalid
from timeball.api.http.reply import Reply, ok
from timeball.api.http.request import Request, idempotency_key, key_conflict, read_body
from timeball.api.http.request_model import read_fields
from timeball.api.http.route import Router
from timeball.api.http.schema_rules import needed
from timeball.api.runs.answers import RunAnswer, run_answer
from timeball.api.runs.callbacks import HeartbeatRequest, check_runs, heard, missing
from timeball.domain.graphs.fan_out import MAX_ITEMS_BYTES, item_text
from timeball.domain.model.runs.values import MAX_ITEMS
from timeball.engine.runs.callback import Naming, name_items
from timeball.engine.runs.effects import Refusal

router = Router()


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
    errors += missing(given)
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
    check_runs(edge, answered)
    match answered[0]:
        case Refusal.CONFLICT:
            raise key_conflict()
        case Refusal.TOO_MANY:
            raise _too_many(f"more than {MAX_ITEMS} items; name fewer, or lists of them")
        case Refusal.TOO_LARGE:
            raise _too_many("more than 256 KB; name where the items are stored")
    return ok(run_answer(heard(answered, wanted.attempt)))


def _too_many(what: str) -> ProblemError:
    return ProblemError(
        Problem.TOO_MANY_ITEMS, f"With earlier items the run would have {what}. None of these items was added."
    )
