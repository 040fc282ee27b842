"""What the documentation says of fields that hang together, in JSON Schema: needed, exclusive, only beside others.

The code validates them with sentences of its own (misplaced, and each room's `_together`). Null counts as not given.
"""

from collections.abc import Callable, Mapping, Sequence
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
    beside: Mapping[str, Sequence[str | None]] | None = None,
    also: Sequence[_Schema] = (),
) -> Callable[[_Schema], None]:
    """Return what adds rules to a model's schema.

    One of `one_of`, an exclusive group, is given; of each group of `exclusive` at most one; each of `beside` only with
    one of its partners, which are of one group; None stands for none of that. `also` are rules of another kind.
    """

    def add(schema: _Schema) -> None:
        schema["allOf"] = [*(one_at_most(group, beside or {}, is_needed=group == one_of) for group in exclusive), *also]

    return add


def one_at_most(
    group: Sequence[str], beside: Mapping[str, Sequence[str | None]], *, is_needed: bool = False
) -> _Schema:
    """Return the rule of a group: its alternatives, each with the fields that are not given beside it.

    A generator of clients or of tests reads that in a moment; one `not` for each pair of fields costs it seconds.
    """
    goes_with = {name: partners for name, partners in beside.items() if {*partners} <= {*group, None}}
    matters = is_needed or bool(goes_with)
    alternatives = []
    for chosen in group if is_needed or not goes_with else [*group, None]:
        found = given(chosen) if matters and chosen is not None else given()
        others = [name for name in group if name != chosen]
        others += [name for name, partners in goes_with.items() if chosen not in partners]
        alternatives.append({**found, "properties": {**found["properties"], **dict.fromkeys(others, _NULL)}})
    return {"anyOf": alternatives}


def given(*names: str) -> _Schema:
    """Return what fits where fields are given."""
    needs = {"required": [*names]} if names else {}
    return {**needs, "properties": {name: {"not": _NULL} for name in names}}
