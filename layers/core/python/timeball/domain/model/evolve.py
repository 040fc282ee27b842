"""A value with some of its fields changed: what `dataclasses.replace` returns, with no call for each field.

Rows have up to fifty fields and change at every step of every run, and `replace` calls a constructor with all of them.
The dataclasses of the domain do nothing in theirs but keep what they are given, so a copy is as good. One that has
slots, or work to do after its construction, is not for this: a test asks each that is changed.
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
