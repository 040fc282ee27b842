"""What the documentation says of fields that hang together, in JSON Schema: needed, exclusive, only beside others.

The code validates them with sentences of its own (misplaced, and each room's `_together`). Null counts as not given.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

_Schema = dict[str, Any]
_NULL = {"type": "null"}


def needed(*names: str) -> Callable[[_Schema], None]:
    """Return what adds to a model's schema that fields must be given, and not as null."""

    def add(schema: _Schema) -> None:
        schema["required"] = list(names)
        for name in names:
            field = schema["properties"][name]
            kinds = [kind for kind in field.pop("anyOf", []) if kind != _NULL]
            field.pop("default", None)
            field |= kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else {}

    return add


def together(
    *,
    one_of: Sequence[str] = (),
    exclusive: Sequence[Sequence[str]] = (),
    beside: Mapping[str, Sequence[str]] | None = None,
) -> Callable[[_Schema], None]:
    """Return what adds rules to a model's schema.

    One of `one_of` is given; of each group of `exclusive` at most one; each of `beside` only with one of its partners.
    """

    def add(schema: _Schema) -> None:
        rules: list[_Schema] = [{"anyOf": _all_given(one_of)}] if one_of else []
        rules += [{"not": {"allOf": [_given(a), _given(b)]}} for group in exclusive for a, b in combinations(group, 2)]
        rules += [{"anyOf": [_not_given(name), *_all_given(others)]} for name, others in (beside or {}).items()]
        schema["allOf"] = rules

    return add


def _all_given(names: Iterable[str]) -> list[_Schema]:
    return [_given(name) for name in names]


def _given(name: str) -> _Schema:
    return {"required": [name], "properties": {name: {"not": _NULL}}}


def _not_given(name: str) -> _Schema:
    return {"properties": {name: _NULL}}
