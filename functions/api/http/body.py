"""A body is one JSON object, read strictly: what two parsers could read differently is refused.

Refused: keys given twice, NaN and Infinity, numbers that no double holds, halves of surrogate pairs,
hostile nesting. What reading takes of time and memory is bounded by the size of a body, whatever it holds.
"""

import base64
import gc
import json
import math
import re
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate, islice
from typing import Any, Final, NoReturn

from functions.api.http.problems import ENOUGH_ERRORS, FieldError, Problem, ProblemError, invalid, shortened

MAX_BYTES: Final = 1024 * 1024
"""A payload has at most a quarter of it, which leaves room for blanks and escapes."""

MAX_DEPTH: Final = 100
"""Levels of objects and arrays within each other."""

_MAX_DIGITS: Final = 100
_LONGEST_BASE64: Final = (MAX_BYTES + 2) // 3 * 4
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
"""A string of JSON; one without an end goes on to the end, so that no text takes more than one look."""
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[{]}"))
_ESCAPED_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")


class _RefusedError(ValueError):
    """Valid JSON to some parsers, refused here; the text is the sentence."""


def decoded(body: str, *, is_base64: bool) -> bytes:
    """Return a body as it was sent. Raises ProblemError for a large one, before work is done on it."""
    if len(body) <= (_LONGEST_BASE64 if is_base64 else MAX_BYTES):
        raw = base64.b64decode(body) if is_base64 else body.encode("utf-8", "surrogatepass")
        if len(raw) <= MAX_BYTES:
            return raw
    raise ProblemError(Problem.BODY_TOO_LARGE, f"A body may have at most {MAX_BYTES} bytes (1 MB); send a smaller one.")


def read_object(raw: bytes) -> dict[str, Any]:
    """Read a request's body. Raises ProblemError: malformed, or invalid where a field can be named."""
    value = _read(raw)
    if not isinstance(value, dict):
        raise _malformed(f"The body is {kind_of(value)}; send a JSON object.")
    return _without_halves(raw, value)


def read_objects(raw: bytes, most: int) -> dict[str, Any] | list[Any]:
    """Read a body that may be an object, or an array of `most` values at most. Raises ProblemError."""
    value = _read(raw)
    if isinstance(value, list) and 1 <= len(value) <= most:
        _without_halves(raw, {f"[{place}]": one for place, one in enumerate(value)})
        return value
    if isinstance(value, list):
        raise _malformed(f"The body is an array of {len(value)}; send 1 to {most}, or a JSON object.")
    if not isinstance(value, dict):
        raise _malformed(f"The body is {kind_of(value)}; send a JSON object, or an array of such.")
    return _without_halves(raw, value)


def _read(raw: bytes) -> object:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as bad:
        raise _malformed(f"The body is not UTF-8: byte {bad.start} starts no character.") from None
    if not text.strip():
        raise _malformed("The body is empty; send a JSON object.")
    if _depth(raw) > MAX_DEPTH:
        raise _malformed(f"The body nests more than {MAX_DEPTH} levels deep; flatten it.")
    with _no_collection():
        return _parse(text)


def _without_halves(raw: bytes, value: dict[str, Any]) -> dict[str, Any]:
    # No half can come but as an escape: UTF-8 has none.
    halves = [*islice(_halves(value), ENOUGH_ERRORS)] if _ESCAPED_SURROGATE.search(raw) else []
    if halves:
        raise invalid(halves)
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


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _RefusedError(f"The key {json.dumps(shortened(key))} stands twice in one object; give it once.")
            seen.add(key)
    return members


def _constant(name: str) -> NoReturn:
    raise _RefusedError(f"{name} is no JSON number; give a finite number, or null.")


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _RefusedError(f"The number {shortened(digits)} is too large; give it as a string.")
    return number


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise _RefusedError(f"A number of {len(digits)} digits is too large; give it as a string.")
    return int(digits)


def _depth(raw: bytes) -> int:
    """Return how deep brackets stand in each other, before a parser follows them."""
    if raw.count(b"[") + raw.count(b"{") <= MAX_DEPTH:
        return 0
    steps = _STRING.sub(b"", raw).translate(_STEPS, _NO_BRACKETS)
    return max(accumulate(array("b", steps)), default=0)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector from walking a growing tree again and again; JSON has no cycles to be found."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _halves(members: dict[str, Any]) -> Iterator[FieldError]:
    """Find the members that hold half of a surrogate pair; a hundred are tried at once, for most hold none."""
    left = iter(members.items())
    while some := dict(islice(left, 100)):
        for key in () if _is_text(some) else some:
            if not _is_text({key: some[key]}):
                yield FieldError(shortened(key), "Leave out the half of a surrogate pair: it is no character.")


def _is_text(value: object) -> bool:
    try:
        compact(value).encode()
    except UnicodeEncodeError:
        return False
    return True


def kind_of(value: object) -> str:
    """Return what people call the kind of a JSON value that is no object."""
    kinds = {list: "an array", str: "a string", bool: "true or false", int: "a number", float: "a number"}
    return kinds.get(type(value), "null")


def _malformed(detail: str) -> ProblemError:
    return ProblemError(Problem.MALFORMED_BODY, detail)
