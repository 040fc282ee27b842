"""Match events by EventBridge's patterns, as AWS documents them: a field matches one of the listed alternatives.

An array in an event matches if one of its elements does.
"""

import ipaddress
import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

_ABSENT: Final = object()

_COMPARISONS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "<": lambda value, bound: value < bound,
    "<=": lambda value, bound: value <= bound,
    "=": lambda value, bound: value == bound,
    ">": lambda value, bound: value > bound,
    ">=": lambda value, bound: value >= bound,
}


@lru_cache(maxsize=1000)
def _loaded(pattern: str) -> Mapping[str, Any]:
    loaded = json.loads(pattern)
    if not isinstance(loaded, dict):
        raise ValueError("A pattern is a JSON object.")  # noqa: TRY004 - as for other text that is no pattern
    return loaded


def matches(pattern: str, event: Mapping[str, Any]) -> bool:
    """Return whether a pattern (JSON text) matches an event. Raises ValueError for text that is no pattern."""
    return _matches(_loaded(pattern), event)


def _matches(pattern: Mapping[str, Any], event: object) -> bool:
    """Return whether each field of a pattern is matched. All are read, so that a pattern is refused for any event."""
    found = [_member(name, wanted, event) for name, wanted in pattern.items()]
    return all(found)


def _member(name: str, wanted: object, event: object) -> bool:
    if name == "$or" and isinstance(wanted, list):
        found = [_matches(one, event) for one in wanted]
        return any(found)
    return _field(wanted, event.get(name, _ABSENT) if isinstance(event, Mapping) else _ABSENT)


def _field(wanted: object, value: object) -> bool:
    if isinstance(wanted, Mapping):
        elements = value if isinstance(value, list) else [value]
        found = [_matches(wanted, one) for one in elements]
        return any(found)
    if not isinstance(wanted, list):
        raise ValueError(f"A field of a pattern has an array of what it matches, and not {wanted!r}.")  # noqa: TRY004 - as above
    elements = value if isinstance(value, list) else [value]
    found = [_alternative(one, element) for one in wanted for element in elements]
    return any(found)


def _alternative(wanted: object, value: object) -> bool:
    """Return whether a value matches one alternative: a literal, or an operator."""
    if not isinstance(wanted, Mapping):
        return _equals(wanted, value)
    ((operator, operand),) = wanted.items()
    if operator == "exists":
        return (value is not _ABSENT) is bool(operand)
    if operator not in _OPERATORS:
        raise ValueError(f"{operator} is no operator of a pattern.")
    return _OPERATORS[operator](operand, value) and value is not _ABSENT


def _equals(wanted: object, value: object) -> bool:
    return (type(wanted) is type(value) and wanted == value) or (_is_number(wanted, value) and wanted == value)


def _is_number(*values: object) -> bool:
    return all(isinstance(one, int | float) and not isinstance(one, bool) for one in values)


def _folded(operand: object, value: str) -> tuple[str, str]:
    """Return an operand and a value, without case if the operand asks for that."""
    if isinstance(operand, Mapping):
        return str(operand["equals-ignore-case"]).lower(), value.lower()
    return str(operand), value


def _prefix(operand: object, value: object) -> bool:
    if not isinstance(value, str):
        return False
    wanted, text = _folded(operand, value)
    return text.startswith(wanted)


def _suffix(operand: object, value: object) -> bool:
    if not isinstance(value, str):
        return False
    wanted, text = _folded(operand, value)
    return text.endswith(wanted)


def _ignoring_case(operand: object, value: object) -> bool:
    wanted = operand if isinstance(operand, list) else [operand]
    return isinstance(value, str) and value.lower() in [str(one).lower() for one in wanted]


def _wildcard(operand: object, value: object) -> bool:
    wanted = operand if isinstance(operand, list) else [operand]
    return isinstance(value, str) and any(
        re.fullmatch(".*".join(re.escape(part) for part in str(one).split("*")), value, re.DOTALL) for one in wanted
    )


def _numeric(operand: list[Any], value: object) -> bool:
    pairs = zip(operand[::2], operand[1::2], strict=True)
    # A list, so that a pattern with an unknown comparison is refused, whatever the value is.
    tests = [(_COMPARISONS[comparison], bound) for comparison, bound in pairs]
    return isinstance(value, int | float) and _is_number(value) and all(test(value, bound) for test, bound in tests)


def _cidr(operand: str, value: object) -> bool:
    network = ipaddress.ip_network(operand)
    try:
        return ipaddress.ip_address(str(value)) in network
    except ValueError:
        return False


def _anything_but(operand: object, value: object) -> bool:
    if isinstance(operand, Mapping):
        ((operator, wanted),) = operand.items()
        many = wanted if isinstance(wanted, list) else [wanted]
        return not any(_OPERATORS[operator](one, value) for one in many)
    many = operand if isinstance(operand, list) else [operand]
    return not any(_equals(one, value) for one in many)


_OPERATORS: Final[Mapping[str, Callable[[Any, object], bool]]] = {
    "anything-but": _anything_but,
    "cidr": _cidr,
    "equals-ignore-case": _ignoring_case,
    "numeric": _numeric,
    "prefix": _prefix,
    "suffix": _suffix,
    "wildcard": _wildcard,
}
