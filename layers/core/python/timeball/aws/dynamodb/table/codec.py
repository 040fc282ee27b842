"""Values as rows and back, by the types of their fields: an attribute has the name of its field.

What a row does not have is read as the field's default: a field that comes later is readable from older rows. None is
left out, and so is what is nested or empty and as its default: rows stay small, and a default of what is stored never
changes. A nested value is compact JSON text, so that every attribute is text, a number or a flag.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin

from timeball.domain.model.ids import BackfillKey, JobKey, RunId
from timeball.domain.model.job import RuleSet
from timeball.domain.time.schedule import At, Cron, Every

Item = dict[str, str | int | bool]
_TAGGED = frozenset({At, Cron, Every})
"""Kinds of a union: each says which it is."""
_Value = TypeVar("_Value")
_Plain = Callable[[Any], Any]

_NAMES: Mapping[type, tuple[_Plain, _Plain]] = {
    JobKey: (lambda key: f"{key.tenant}#{key.job_id}", lambda text: JobKey(*text.split("#", 1))),
    BackfillKey: (
        lambda key: f"{key.job.tenant}#{key.job.job_id}.{key.name}",
        lambda text: BackfillKey(JobKey(*text.split(".", 1)[0].split("#", 1)), text.split(".", 1)[1]),
    ),
    RunId: (lambda run: f"{run.job.tenant}#{run}", lambda text: RunId.parse(*text.split("#", 1))),
    RuleSet: (
        lambda rules: f"{rules.version} {rules.tzdata}",
        lambda text: RuleSet(int(text.split()[0]), text.split()[1]),
    ),
}
"""What is text of its own: how it is written, and read."""


def to_item(value: object, without: str = "") -> Item:
    """Return a value's attributes, but for the field that its key tells."""
    item: Item = {}
    for one in _fields_of(value):
        part = getattr(value, one.name)
        is_default = part == _default(one) and (_is_nested(one) or not part)
        if part is not None and not is_default and one.name != without:
            item[one.name] = to_text(part) if _is_nested(one) else _plain(part)
    return item


def from_item(kind: type[_Value], row: Mapping[str, Any], **known: object) -> _Value:
    """Return the value that a row holds, with the fields that its key tells."""
    known_kind: Any = kind
    found = {
        one.name: _read(one, json.loads(row[one.name]) if _is_nested(one) else row[one.name])
        for one in _fields(known_kind)
        if one.name in row and one.name not in known
    }
    return kind(**{**_empty(known_kind), **found, **known})


def to_text(value: object) -> str:
    """Return a value as compact JSON."""
    return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))


def from_text(kind: type[_Value], text: str) -> _Value:
    """Return the value that a text holds."""
    known_kind: Any = kind
    value: _Value = _reader(known_kind)(json.loads(text))
    return value


def _is_nested(one: Field[Any]) -> bool:
    kind = _only(one.type)
    return kind not in _NAMES and (is_dataclass(kind) or get_origin(kind) in (tuple, Mapping) or _is_union(kind))


def _plain_fields(value: Any) -> dict[str, Any]:  # noqa: ANN401 - any dataclass
    """Return the fields of a value that are neither None nor as their default."""
    return {
        one.name: _plain(part)
        for one in _fields_of(value)
        if (part := getattr(value, one.name)) is not None and part != _default(one)
    }


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a field holds
    kind = type(value)
    if kind in _NAMES:
        return _NAMES[kind][0](value)
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(kind):
        return {"kind": kind.__name__, **_plain_fields(value)} if kind in _TAGGED else _plain_fields(value)
    return [_plain(part) for part in value] if kind is tuple else value


@cache
def _reader(kind: Any) -> _Plain:  # noqa: ANN401 - a type, or a union of types
    """Return what turns a plain value into one of a type."""
    kind = _only(kind)
    if kind in _NAMES:
        return _NAMES[kind][1]
    if _is_union(kind):
        readers = {one.__name__: _reader(one) for one in get_args(kind)}
        return lambda plain: readers[plain["kind"]](plain)
    if get_origin(kind) is tuple:
        read = _reader(get_args(kind)[0])
        return lambda plain: tuple(map(read, plain))
    if is_dataclass(kind):
        return lambda plain: _made(kind, plain)
    is_enum = isinstance(kind, type) and issubclass(kind, Enum)
    return kind if is_enum else lambda plain: plain


def _made(kind: Any, plain: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a dataclass, and its value
    return kind(
        **{**_empty(kind), **{one.name: _read(one, plain[one.name]) for one in _fields(kind) if one.name in plain}}
    )


def _read(one: Field[Any], plain: Any) -> Any:  # noqa: ANN401 - whatever a field holds
    kind: Any = one.type
    return _reader(kind)(plain)


def _fields_of(value: Any) -> tuple[Field[Any], ...]:  # noqa: ANN401 - a dataclass's value
    kind: Any = type(value)
    return _fields(kind)


@cache
def _fields(kind: Any) -> tuple[Field[Any], ...]:  # noqa: ANN401 - a dataclass
    return fields(kind)


@cache
def _empty(kind: Any) -> dict[str, None]:  # noqa: ANN401 - a dataclass
    """Return the fields that have no default, and are None where a row does not have them."""
    return {one.name: None for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING}


def _default(one: Field[Any]) -> Any:  # noqa: ANN401 - whatever a field holds
    return one.default_factory() if one.default_factory is not MISSING else one.default


def _only(kind: Any) -> Any:  # noqa: ANN401 - a type, or a union of types
    """Return a type that may be None as itself."""
    if isinstance(kind, UnionType):
        some = [one for one in get_args(kind) if one is not NoneType]
        return some[0] if len(some) == 1 else kind
    return kind


def _is_union(kind: Any) -> bool:  # noqa: ANN401 - a type, or a union of types
    return isinstance(kind, UnionType)
