"""Which JSON Schemas a task may have: draft 2020-12, bounded in size and depth, and self-contained.

Nothing is ever fetched: every reference leads to a part of the same schema, or the schema is refused. An allowance
limits the processor time of work on what callers wrote. The timer's signal reaches only Python's main thread, where a
Lambda's handler runs; other threads have no limit.
"""

import re
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Annotated, Any, Final, NoReturn

from pydantic import AfterValidator

from timeball.api.http.body import compact
from timeball.api.http.problems import shortened

_AGAIN_SECONDS = 0.02
"""How soon the timer fires again: Python discards an exception that is raised while an object is finalized."""


class OutOfTimeError(Exception):
    """The work has used all of its processor time."""


@dataclass
class Allowance:
    """The processor time (s) that the work of one request may still use."""

    seconds: float = 1.0

    @contextmanager
    def spent(self) -> Iterator[None]:
        """Do work within the remaining time. Raises OutOfTimeError."""
        if self.seconds <= 0:
            raise OutOfTimeError
        begun = time.process_time()
        try:
            with _cut_after(self.seconds):
                yield
        finally:
            self.seconds -= time.process_time() - begun


@contextmanager
def _cut_after(seconds: float) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    is_over = False

    def cut(_: int, __: FrameType | None) -> None:
        if not is_over:
            _raise()

    def leave_unraised(unraisable: "sys.UnraisableHookArgs") -> None:
        if unraisable.exc_type is not OutOfTimeError:
            before_hook(unraisable)

    before_hook, sys.unraisablehook = sys.unraisablehook, leave_unraised
    before = signal.signal(signal.SIGVTALRM, cut)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, _AGAIN_SECONDS)
    try:
        yield
    finally:
        is_over = True
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        sys.unraisablehook = before_hook


def _raise() -> NoReturn:
    raise OutOfTimeError


DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
MAX_BYTES: Final = 16 * 1024
MAX_DEPTH: Final = 32

_REFERENCES: Final = ("$ref", "$dynamicRef")
_HOLDERS: Final = frozenset(
    {"additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then"}
    | {"allOf", "anyOf", "oneOf", "prefixItems", "unevaluatedItems", "unevaluatedProperties"}
)
"""Keywords whose values are schemas or lists of schemas. Other values are data, which the metaschema ignores."""
_NAMED: Final = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
"""Keywords whose values hold schemas under names that the user chooses."""


def _accepted(schema: dict[str, Any]) -> dict[str, Any]:
    size = len(compact(schema).encode())
    if size > MAX_BYTES:
        raise ValueError(f"The schema has {size} bytes; at most {MAX_BYTES} (16 KB) are allowed.")
    if _depth(schema) > MAX_DEPTH:
        raise ValueError(f"The schema nests more than {MAX_DEPTH} levels deep; use $defs and $ref.")
    if schema.get("$schema", DIALECT) not in (DIALECT, f"{DIALECT}#"):
        raise ValueError(f"Use JSON Schema 2020-12: leave out $schema, or give {DIALECT}.")
    import jsonschema  # noqa: F401, PLC0415 - its slow import must not count against the schema

    try:
        with Allowance().spent():
            _refuse_what_is_wrong(schema)
    except OutOfTimeError:
        raise ValueError("Reading the schema takes too long; give a simpler one.") from None
    except RecursionError:
        raise ValueError(
            "The schema refers to itself without end; each reference must descend into the data."
        ) from None
    return schema


PayloadSchema = Annotated[dict[str, Any], AfterValidator(_accepted)]


def _refuse_what_is_wrong(schema: dict[str, Any]) -> None:
    """Raise ValueError for the first fault: Timeball's own rules first, then the metaschema."""
    for path, part in _schemas(schema, ()):
        if "$id" in part and path:
            raise ValueError(f"Leave out the $id at {_shown(path)}: only the whole schema may have one.")
        for keyword in _REFERENCES:
            reference = part.get(keyword)
            if isinstance(reference, str) and not reference.startswith("#"):
                raise ValueError(
                    f"A reference must stay within the schema and begin with #; {shortened(reference)} does not."
                )
        for pattern in (part.get("pattern"), *_names(part.get("patternProperties"))):
            if isinstance(pattern, str):
                _refuse_bad_pattern(pattern)
    _refuse_by_metaschema(schema)
    _refuse_loose_references(schema)
    _go_round(schema)


def _refuse_bad_pattern(pattern: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)  # patterns that Python will read differently
            re.compile(pattern)
    except (re.error, OverflowError, FutureWarning):
        raise ValueError(f"{shortened(pattern)} is not a regular expression of Python's `re`.") from None


def _refuse_by_metaschema(schema: dict[str, Any]) -> None:
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - slow to import, and seldom needed
    from jsonschema.exceptions import best_match  # noqa: PLC0415

    error = best_match(Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(schema))
    if error is not None:
        raise ValueError(f"This is not a JSON Schema: see {_shown(tuple(error.absolute_path)) or 'the whole'}.")


def _refuse_loose_references(schema: dict[str, Any]) -> None:
    from referencing import Registry  # noqa: PLC0415
    from referencing.exceptions import Unresolvable  # noqa: PLC0415
    from referencing.jsonschema import DRAFT202012  # noqa: PLC0415

    base = schema.get("$id", "")
    registry: Registry[Any] = Registry().with_resource(base, DRAFT202012.create_resource(schema))
    resolver = registry.resolver(base)
    parts = [part for _, part in _schemas(schema, ())]
    checked = {id(part) for part in parts}
    for part in parts:
        for keyword in _REFERENCES:
            reference = part.get(keyword)
            if isinstance(reference, str):
                try:
                    found = resolver.lookup(reference).contents
                except (Unresolvable, ValueError):
                    found = None
                if not isinstance(found, bool) and id(found) not in checked:
                    raise ValueError(f"The reference {shortened(reference)} leads to no schema.")


def _go_round(schema: dict[str, Any]) -> None:
    """Raise RecursionError for a schema that refers to itself without descending into the data."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415
    from referencing import Registry  # noqa: PLC0415

    validator = Draft202012Validator(schema, registry=Registry())
    empty: tuple[object, ...] = (None, {}, [], "", 0)
    for instance in empty:
        validator.is_valid(instance)


def _schemas(schema: object, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, Any]]]:
    """Yield each schema within a schema, with its path."""
    if isinstance(schema, list):
        for position, one in enumerate(schema):
            yield from _schemas(one, (*path, position))
    if isinstance(schema, dict):
        yield path, schema
        for keyword, value in schema.items():
            if keyword in _NAMED and isinstance(value, dict):
                for name, one in value.items():
                    yield from _schemas(one, (*path, keyword, name))
            elif keyword in _HOLDERS:
                yield from _schemas(value, (*path, keyword))


def _names(named: object) -> list[str]:
    return list(named) if isinstance(named, dict) else []


def _depth(value: object) -> int:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, parts), default=0)


def _shown(path: tuple[str | int, ...]) -> str:
    return shortened(".".join(map(str, path)))
