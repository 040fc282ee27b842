"""Read a body strictly as one JSON object, and refuse what two parsers could read differently.

Refused are: keys given twice, NaN and Infinity, numbers beyond the range of a double, unpaired surrogates, and hostile
nesting. The size limit of a body bounds the time and memory of reading, whatever the body contains.
"""

import base64
import gc
import json
import math
import re
from array import array
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import accumulate, islice
from typing import Any, Final, NoReturn

from timeball.api.http.problems import ENOUGH_ERRORS, FieldError, Problem, ProblemError, invalid, shortened

MAX_BYTES: Final = 1024 * 1024
"""A payload may take a quarter of this, which leaves room for blanks and escapes."""

MAX_DEPTH: Final = 100
"""The most levels of nested objects and arrays."""

_MAX_DIGITS: Final = 100
_LONGEST_BASE64: Final = (MAX_BYTES + 2) // 3 * 4
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
"""A JSON string. An unterminated string matches up to the end, so that each byte is scanned once."""
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[{]}"))
_ESCAPED_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")


class _RefusedError(ValueError):
    """JSON that some parsers accept and this module refuses; the text is the sentence for the caller."""


def decoded(body: str, *, is_base64: bool) -> bytes:
    """Return a body as it was sent. Raises ProblemError for a body over MAX_BYTES before any work is done on it."""
    if len(body) <= (_LONGEST_BASE64 if is_base64 else MAX_BYTES):
        raw = base64.b64decode(body) if is_base64 else body.encode("utf-8", "surrogatepass")
        if len(raw) <= MAX_BYTES:
            return raw
    raise ProblemError(Problem.BODY_TOO_LARGE, f"A body may have at most {MAX_BYTES} bytes (1 MB); send a smaller one.")


def read_object(raw: bytes) -> dict[str, Any]:
    """Read a request's body as a JSON object. Raises ProblemError: malformed, or invalid if a field can be named."""
    value = _read(raw)
    if not isinstance(value, dict):
        raise _malformed(f"The body is {kind_of(value)}; send a JSON object.")
    return _without_halves(raw, value)


def read_objects(raw: bytes, most: int) -> dict[str, Any] | list[Any]:
    """Read a body that is an object, or an array of at most `most` values. Raises ProblemError."""
    value = _read(raw)
    if isinstance(value, list) and 1 <= len(value) <= most:
        _without_halves(raw, {f"[{index}]": one for index, one in enumerate(value)})
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
    # UTF-8 cannot encode an unpaired surrogate, so one can only arrive as an escape.
    halves = [*islice(_halves(value), ENOUGH_ERRORS)] if _ESCAPED_SURROGATE.search(raw) else []
    if halves:
        raise invalid(halves)
    return value


def compact(value: object) -> str:
    """Return JSON without blanks, with keys in the given order: the form in which a payload is stored and measured."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def canonical(value: object) -> bytes:
    """Return a JSON value in a form that does not depend on blanks or on the order of keys."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False).encode()


def _parse(text: str) -> object:
    try:
        return json.loads(
            text, object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_integer
        )
    except json.JSONDecodeError as bad:
        raise _malformed(f"The body is not JSON: {bad.msg} at line {bad.lineno}, column {bad.colno}.") from None
    except _RefusedError as refused:
        raise _malformed(str(refused)) from None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _RefusedError(f"The key {json.dumps(shortened(key))} occurs twice in one object; give it once.")
            seen.add(key)
    return members


def _constant(name: str) -> NoReturn:
    raise _RefusedError(f"{name} is not a JSON number; give a finite number, or null.")


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
    """Return how deeply brackets are nested; 0 if there are too few brackets to exceed MAX_DEPTH."""
    if raw.count(b"[") + raw.count(b"{") <= MAX_DEPTH:
        return 0
    steps = _STRING.sub(b"", raw).translate(_STEPS, _NO_BRACKETS)
    return max(accumulate(array("b", steps)), default=0)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause the garbage collector, which would walk the growing tree repeatedly; JSON contains no cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _halves(members: dict[str, Any]) -> Iterator[FieldError]:
    """Yield an error for each member with an unpaired surrogate; test a hundred members at once, as most are valid."""
    left = iter(members.items())
    while some := dict(islice(left, 100)):
        for key in () if _is_text(some) else some:
            if not _is_text({key: some[key]}):
                yield FieldError(shortened(key), "Leave out the unpaired surrogate: it is not a character.")


def _is_text(value: object) -> bool:
    try:
        compact(value).encode()
    except UnicodeEncodeError:
        return False
    return True


def kind_of(value: object) -> str:
    """Return the everyday name of the kind of a JSON value that is not an object."""
    kinds = {list: "an array", str: "a string", bool: "true or false", int: "a number", float: "a number"}
    return kinds.get(type(value), "null")


def _malformed(detail: str) -> ProblemError:
    return ProblemError(Problem.MALFORMED_BODY, detail)


def merge(target: object, patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document after a merge patch (RFC 7396): values replace, null removes, objects are merged."""
    after = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            after.pop(name, None)
        else:
            after[name] = merge(after.get(name), value) if isinstance(value, dict) else value
    return after
