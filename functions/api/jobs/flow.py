"""What a job may say of what comes again: a key of its own, how triggers are collected, what newer runs do."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import Field

from functions.api.http.problems import FieldError
from functions.api.jobs.fields import Name
from functions.api.keys.fields import KeyFields, KeysAnswer, key_documents, keys_of
from timeball.domain.model.terms.flow import Debounce, Flow, Unique

LONGEST_WINDOW_SECONDS: Final = 2_592_000
LONGEST_WAIT_SECONDS: Final = 86_400
_WAITS: Final = 10
"""Where no longest wait is given, it is so many times as long as the wait."""

FLOW_NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
    "uniqueSeconds": ("uniqueKey",),
    "debounceMaxSeconds": ("debounceSeconds",),
}
"""Fields that mean something only beside another."""


class FlowFields(KeyFields):
    """What a job says of what comes again."""

    unique_key: Name | None = Field(
        None, description="While this key stands for a job, who submits one with it is answered with that: 200."
    )
    unique_seconds: int | None = Field(
        None,
        ge=1,
        le=LONGEST_WINDOW_SECONDS,
        description="So long from the first submit on, whatever becomes of that job; default: until it is over.",
    )
    debounce_seconds: int | None = Field(
        None,
        ge=1,
        le=LONGEST_WAIT_SECONDS,
        description="Triggers, or submits under its `uniqueKey`, have one run, when so long none has come.",
    )
    debounce_max_seconds: int | None = Field(
        None,
        ge=1,
        le=LONGEST_WAIT_SECONDS,
        description="It starts so long after the first one at the latest; default ten times `debounceSeconds`.",
    )
    supersede: bool | None = Field(
        None, description="Whether a newer run takes the place of one that has not started; default false."
    )


class FlowAnswer(KeysAnswer):
    """What a job says of what comes again."""

    unique_key: str | None = Field(description="The key under which it was submitted.")
    unique_seconds: int | None = Field(description="For how long that stands for it; null: until it is over.")
    debounce_seconds: int | None = Field(description="For how long its start waits for another trigger, or submit.")
    debounce_max_seconds: int | None = Field(description="How long that is together at most.")
    supersede: bool = Field(description="Whether a newer run takes the place of one that has not started.")


def flow_of(request: FlowFields) -> Flow:
    """Return what a faultless request says of what comes again."""
    unique = None if request.unique_key is None else Unique(request.unique_key, request.unique_seconds)
    seconds = request.debounce_seconds
    debounce = None if seconds is None else Debounce(seconds, request.debounce_max_seconds or _longest(seconds))
    concurrency, rate = keys_of(request)
    return Flow(unique, debounce, supersede=bool(request.supersede), concurrency=concurrency, rate=rate)


def flow_document(flow: Flow) -> dict[str, Any]:
    """Return what a job says of what comes again, as a request says it, and an answer tells it."""
    return {
        "uniqueKey": None if flow.unique is None else flow.unique.key,
        "uniqueSeconds": None if flow.unique is None else flow.unique.seconds,
        "debounceSeconds": None if flow.debounce is None else flow.debounce.seconds,
        "debounceMaxSeconds": None if flow.debounce is None else flow.debounce.max_seconds,
        "supersede": flow.supersede,
        **key_documents(flow),
    }


def bad_flow(request: FlowFields, overlap: str | None, catch_up: str | None, *, waits: bool) -> Iterator[FieldError]:
    """Validate what is to go together: also with the overlap and catch-up policies, and with waiting for others."""
    least = request.debounce_seconds or 0
    if least > (request.debounce_max_seconds or least):
        yield FieldError("debounceMaxSeconds", f"This is the longest wait; give debounceSeconds, {least}, or more.")
    if not request.supersede:
        return
    if overlap == "skip":
        yield FieldError(
            "supersede", "With overlapPolicy skip the newer run is skipped; choose another, or leave this out."
        )
    if waits:
        yield FieldError("supersede", "A job that depends on others has a run for each cycle; leave out this or that.")
    if catch_up == "all":
        yield FieldError(
            "supersede", "With the catchUp policy all each missed fire runs; choose latest, or leave this out."
        )


def _longest(seconds: int) -> int:
    return min(_WAITS * seconds, LONGEST_WAIT_SECONDS)
