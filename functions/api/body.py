"""A body is one JSON object, read strictly: what two parsers could read differently is refused.

Refused: keys given twice, NaN and Infinity, numbers that no double holds, halves of surrogate pairs,
hostile nesting.
"""

import json
import math
from typing import Any, NoReturn

from .problems import FieldError, Problem, ProblemError, invalid

MAX_DEPTH = 100
"""Levels of objects and arrays within each other."""

_MAX_SHOWN = 100


class _RefusedError(ValueError):
    """Valid JSON to some parsers, refused here; the text is the sentence."""


def read_object(raw: bytes) -> dict[str, Any]:
    """Read a request's body. Raises ProblemError: malformed, or invalid where a field can be named."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as bad:
        raise _malformed(f"The body is not UTF-8: byte {bad.start} starts no character.") from None
    if not text.strip():
        raise _malformed("The body is empty; send a JSON object.")
    value = _parse(text)
    if not isinstance(value, dict):
        raise _malformed(f"The body is {_kind(value)}; send a JSON object.")
    if _is_deeper(value, MAX_DEPTH):
        raise _malformed(f"The body nests more than {MAX_DEPTH} levels deep; flatten it.")
    halves = [key for key, member in value.items() if not _is_text({key: member})]
    if halves:
        raise invalid(
            [FieldError(key, "Leave out the half of a surrogate pair: it is no character.") for key in halves]
        )
    return value


def compact(value: object) -> str:
    """Return JSON without blanks, in the order given: how a payload is stored and measured."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def canonical(value: object) -> bytes:
    """Return the one form of a JSON value that does not depend on blanks or on the order of keys."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False).encode()


def _parse(text: str) -> object:
    try:
        return json.loads(
            text, object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_integer
        )
    except json.JSONDecodeError as bad:
        raise _malformed(f"The body is no JSON: {bad.msg} at line {bad.lineno}, column {bad.colno}.") from None
    except _RefusedError as refused:
        raise _malformed(str(refused)) from None
    except RecursionError:
        raise _malformed(f"The body nests more than {MAX_DEPTH} levels deep; flatten it.") from None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for key, value in pairs:
        if key in members:
            raise _RefusedError(f"The key {_shown(key)} stands twice in one object; give it once.")
        members[key] = value
    return members


def _constant(name: str) -> NoReturn:
    raise _RefusedError(f"{name} is no JSON number; give a finite number, or null.")


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _RefusedError(f"The number {digits[:_MAX_SHOWN]} is too large; give it as a string.")
    return number


def _integer(digits: str) -> int:
    if len(digits) > _MAX_SHOWN:
        raise _RefusedError(f"A number of {len(digits)} digits is too large; give it as a string.")
    return int(digits)


def _is_deeper(value: object, limit: int) -> bool:
    """Say whether containers stand in each other more than `limit` deep; level by level, not by recursion."""
    level: list[object] = [value]
    for _ in range(limit):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent if isinstance(parent, list) else ())
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def _is_text(value: object) -> bool:
    try:
        compact(value).encode()
    except UnicodeEncodeError:
        return False
    return True


def _kind(value: object) -> str:
    kinds = {list: "an array", str: "a string", bool: "true or false", int: "a number", float: "a number"}
    return kinds.get(type(value), "null")


def _shown(key: str) -> str:
    return json.dumps(key if len(key) <= _MAX_SHOWN else f"{key[:_MAX_SHOWN]}...")


def _malformed(detail: str) -> ProblemError:
    return ProblemError(Problem.MALFORMED_BODY, detail)
