"""A copy of a value with some fields changed: the result of `dataclasses.replace`, without its call for every field.

Rows have up to fifty fields and change at every step of every run, and `replace` passes all of them to a constructor.
The constructors of the domain's dataclasses only store their arguments, so a copy is as good. A dataclass with slots,
or with work to do after construction, must not be used here: a test checks every class that is changed.
"""

from typing import TYPE_CHECKING, TypeVar

__all__ = ["evolve"]

_Value = TypeVar("_Value")

if TYPE_CHECKING:
    from dataclasses import replace as evolve  # the names and types of the fields are checked as those of `replace`
else:

    def evolve(value: _Value, /, **changes: object) -> _Value:
        """Return a copy of a value with these fields changed; raise TypeError if it has no such field."""
        fields = vars(value)
        if not changes.keys() <= fields.keys():
            raise TypeError(f"{type(value).__name__} has no field {min(changes.keys() - fields.keys())}")
        twin = object.__new__(type(value))
        vars(twin).update(fields, **changes)
        return twin
