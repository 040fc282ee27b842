"""JSON Schema for fields that depend on each other: required, exclusive, only beside others.

The code validates them with sentences of its own (`misplaced`, and `_together` of each resource). Null counts as not
given.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

_Schema = dict[str, Any]
_NULL = {"type": "null"}


def needed(*names: str) -> Callable[[_Schema], None]:
    """Return a function that marks fields of a model's schema as required and not null."""

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
    beside: Mapping[str, Sequence[str | None]] | None = None,
    also: Sequence[_Schema] = (),
) -> Callable[[_Schema], None]:
    """Return a function that adds rules to a model's schema.

    Exactly one of `one_of`, an exclusive group, must be given. At most one field of each group in `exclusive` may be
    given. A field of `beside` may be given only with one of its partners, which belong to one group; None stands for no
    field of the group. `also` has other rules.
    """

    def add(schema: _Schema) -> None:
        schema["allOf"] = [*(one_at_most(group, beside or {}, is_needed=group == one_of) for group in exclusive), *also]

    return add


def one_at_most(
    group: Sequence[str], beside: Mapping[str, Sequence[str | None]], *, is_needed: bool = False
) -> _Schema:
    """Return the rule for a group: its alternatives, each with the fields that must not be given beside it.

    Generators of clients and of tests process alternatives at once; a `not` for each pair of fields takes them seconds.
    """
    goes_with = {name: partners for name, partners in beside.items() if {*partners} <= {*group, None}}
    chosen: list[str | None] = [*group] if is_needed or not goes_with else [*group, None]
    matters = is_needed or bool(goes_with)
    return {"anyOf": [_alternative(one, group, goes_with, matters=matters) for one in chosen]}


def _alternative(
    chosen: str | None, group: Sequence[str], goes_with: Mapping[str, Sequence[str | None]], *, matters: bool
) -> _Schema:
    """Return the schema for one field of a group, or none, with the fields that must not be given beside it."""
    found = given(chosen) if matters and chosen is not None else given()
    others = [name for name in group if name != chosen]
    others += [name for name, partners in goes_with.items() if chosen not in partners]
    return {**found, "properties": {**found["properties"], **dict.fromkeys(others, _NULL)}}


def given(*names: str) -> _Schema:
    """Return a schema that matches if these fields are given."""
    needs = {"required": [*names]} if names else {}
    return {**needs, "properties": {name: {"not": _NULL} for name in names}}
