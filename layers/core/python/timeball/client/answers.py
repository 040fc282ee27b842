"""The base of all models of answers: a view of the API's JSON, whose fields are read on access.

A field that a newer API added is in `raw` and does no harm; a field that an older API lacks is None, or empty.
"""

import types
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

Reader = Callable[[Any], Any]

_HIDDEN = frozenset({"key", "code"})
"""Fields whose values are secrets: they are in no text of an answer."""


class Answer:
    """An answer of the API, or a part of one."""

    raw: Mapping[str, Any]
    """The JSON as it came, with names as in the API."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw

    if not TYPE_CHECKING:  # a type checker knows the fields by their annotations, and no others

        def __getattr__(self, name: str) -> object:
            reader = _readers(type(self)).get(name)
            if reader is None or name == "raw":
                raise AttributeError(f"{type(self).__name__} has no field {name!r}; `raw` has all of the answer.")
            value = self.__dict__[name] = reader(self.raw.get(json_name(name)))
            return value

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in _readers(type(self)) if name not in _HIDDEN}
        fields = (f"{name}={value!r}" for name, value in shown.items() if _is_short(value))
        return f"{type(self).__name__}({', '.join(fields)})"


class Identified(Answer):
    """An answer about something that has an id."""

    @property
    def id(self) -> str:
        """The id by which the API knows it."""
        return str(getattr(self, next(iter(_readers(type(self))))))


def json_name(name: str) -> str:
    """Return the name of a field in the API: in camelCase, without the underscore that keeps it off Python's words."""
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(part.capitalize() for part in rest)


def _is_short(value: object) -> bool:
    """Return whether a value is shown in a text: no payload, no list, no part of its own."""
    return isinstance(value, str | int | float | datetime)


_READERS: dict[type, Mapping[str, Reader]] = {}


def _readers(kind: type) -> Mapping[str, Reader]:
    """Return what reads each field of a model, in their order."""
    if kind not in _READERS:
        _READERS[kind] = {name: _reader(hint) for name, hint in get_type_hints(kind).items() if name != "raw"}
    return _READERS[kind]


def _reader(hint: Any) -> Reader:  # noqa: ANN401 - a hint is of any type
    """Return what turns JSON into a value of a type."""
    kind, arguments = get_origin(hint), get_args(hint)
    if kind in (Union, types.UnionType):
        return _one_of([one for one in arguments if one is not type(None)])
    if kind is list:
        return _list_of(_reader(arguments[0]))
    if kind is dict:
        return _dict_of(_reader(arguments[1]))
    if _is_model(hint):
        return lambda found: hint(found) if isinstance(found, dict) else found
    return _instant if hint is datetime else _same


def _same(found: object) -> object:
    return found


def _instant(found: object) -> object:
    return datetime.fromisoformat(found) if isinstance(found, str) else found


def _list_of(item: Reader) -> Reader:
    return lambda found: [item(one) for one in found or ()]


def _dict_of(entry: Reader) -> Reader:
    return lambda found: {name: entry(one) for name, one in (found or {}).items()}


def _one_of(hints: list[Any]) -> Reader:
    """Return what reads a value that is null or of one of several types; models differ by their `type`."""
    if len(hints) == 1:
        reader = _reader(hints[0])
        return lambda found: None if found is None else reader(found)
    tagged = {tag: hint for hint in hints if _is_model(hint) for tag in _tags(hint)}

    def read(found: Any) -> Any:  # noqa: ANN401 - whatever JSON it is
        return tagged.get(str(found.get("type")), Answer)(found) if tagged and isinstance(found, dict) else found

    return read


def _is_model(hint: object) -> bool:
    return isinstance(hint, type) and issubclass(hint, Answer)


def _tags(model: type[Answer]) -> tuple[str, ...]:
    hint = get_type_hints(model).get("type")
    return get_args(hint) if get_origin(hint) is Literal else ()
