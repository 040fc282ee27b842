"""The event pattern of a job: an EventBridge pattern over an event as it is on the bus.

Only the form is checked here, so that a typo is reported instead of never matching: the parts of an event, the
operators and their operands. EventBridge checks the rest when it makes the rule, before the job is stored.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, WithJsonSchema

from timeball.api.http.body import kind_of
from timeball.api.http.problems import shortened
from timeball.api.http.request_model import Strict
from timeball.domain.model.terms.event import KEPT_BESIDE

MAX_PATTERN: Final = 1_900
"""The most characters; EventBridge accepts 2,048 by default, and the tenant's name is added."""

_PARTS: Final = re.compile(r"[a-z0-9]{1,20}", re.ASCII)
_MEANT: Final = {"type": "detail-type", "data": "detail", KEPT_BESIDE: "another attribute"}
_TEXTS: Final = ("prefix", "suffix", "equals-ignore-case", "wildcard", "cidr")
_OPERATORS: Final = (*_TEXTS, "anything-but", "numeric", "exists")
_COMPARISONS: Final = ("<", "<=", "=", ">", ">=")
_EXAMPLE: Final = {"source": ["shop"], "detail-type": ["order.placed"], "detail": {"total": [{"numeric": [">", 100]}]}}


def pattern_text(pattern: Mapping[str, Any]) -> str:
    """Return a pattern as text that does not depend on the order of its keys."""
    return json.dumps(pattern, ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False)


def _pattern(pattern: dict[str, Any]) -> dict[str, Any]:
    fault = next(_faults(pattern), None)
    if fault is not None:
        raise ValueError(fault)
    length = len(pattern_text(pattern))
    if length > MAX_PATTERN:
        raise ValueError(f"This pattern has {length} characters; at most {MAX_PATTERN} are allowed.")
    return pattern


def _faults(pattern: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the form of a pattern, each as a sentence that names the field."""
    if not pattern:
        yield 'Say which events: give a pattern such as {"source": ["shop"]}.'
    for alternative in _alternatives(pattern):
        for name in alternative:
            if name in _MEANT:
                yield f"An event on the bus has no {name}; write {_MEANT[name]} instead."
            elif name not in ("detail-type", "$or") and not _PARTS.fullmatch(name):
                yield f"{shortened(name)!r} is not a part of an event; the parts are source, detail-type, detail, id …"
    yield from _faults_within(pattern, "")


def _alternatives(pattern: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return a pattern and its top-level alternatives."""
    alternatives = pattern.get("$or")
    own = alternatives if isinstance(alternatives, list) else []
    return [pattern, *(one for one in own if isinstance(one, dict))]


def _faults_within(pattern: Mapping[str, Any], path: str) -> Iterator[str]:
    for name, part in pattern.items():
        where = f"{path}{shortened(name)}"
        if name == "$or" and isinstance(part, list):
            yield from _faulty_alternatives(part, where, path)
        elif isinstance(part, dict):
            if not part:
                yield f"{where} is an empty object; give what must match, or leave it out."
            yield from _faults_within(part, f"{where}.")
        elif isinstance(part, list):
            if not part:
                yield f"{where} is an empty array, which matches nothing; give one value or more."
            yield from (fault for one in part for fault in _faulty_value(one, where))
        else:
            yield f'{where} is {kind_of(part)}; give an array of what must match, such as ["{where}"].'


def _faulty_alternatives(alternatives: list[Any], where: str, path: str) -> Iterator[str]:
    if len(alternatives) < 2:
        yield f"{where} needs two alternatives or more."
    for one in alternatives:
        if isinstance(one, dict) and one:
            yield from _faults_within(one, path)
        else:
            yield f"{where} takes patterns: objects that are not empty."


def _faulty_value(value: object, where: str) -> Iterator[str]:
    if isinstance(value, list):
        yield f'{where} has an array within its array; give values, or operators such as {{"prefix": "a"}}.'
    if not isinstance(value, dict):
        return
    operator = next(iter(value), "")
    if len(value) != 1 or operator not in _OPERATORS:
        yield f"{where} has an object that is not an operator; use one of {', '.join(_OPERATORS)}, alone."
    elif not _fits(operator, value[operator]):
        yield f"{where} has the operator {operator} with an invalid operand."


def _fits(operator: str, operand: object) -> bool:
    """Say whether the operand has a type that the operator accepts."""
    match operator:
        case "exists":
            return isinstance(operand, bool)
        case "numeric":
            return (
                isinstance(operand, list)
                and len(operand) in (2, 4)
                and all(map(_is_bound, operand[::2], operand[1::2]))
            )
        case "anything-but":
            return operand not in ([], {}, None) and not isinstance(operand, bool)
        case "equals-ignore-case" | "cidr" | "wildcard":
            return isinstance(operand, str)
        case _:
            return isinstance(operand, str | dict)


def _is_bound(comparison: object, number: object) -> bool:
    return comparison in _COMPARISONS and isinstance(number, int | float) and not isinstance(number, bool)


Pattern = Annotated[
    dict[str, Any],
    AfterValidator(_pattern),
    WithJsonSchema({"type": "object", "minProperties": 1, "examples": [_EXAMPLE]}),
]


class EventFields(Strict):
    """The events on which a job runs."""

    event: Pattern | None = Field(
        None,
        description=(
            "An EventBridge pattern of the events on which the job runs. With a recurring schedule, a fire runs only "
            "if an event came since the last one that a fire used; the newest is the payload's `event`."
        ),
    )


def event_of(request: EventFields) -> str | None:
    """Return the pattern of a valid request as it is stored."""
    return None if request.event is None else pattern_text(request.event)
