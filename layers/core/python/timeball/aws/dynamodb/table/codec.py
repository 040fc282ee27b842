"""Values as rows and back, by the types of their fields: an attribute has the name of its field.

What a row does not have is read as the field's default: a field that comes later is readable from older rows. None is
left out, and so is what is nested or empty and as its default: rows stay small, and a default of what is stored never
changes. A nested value is compact JSON text, so that every attribute is text, a number or a flag.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, astuple, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin

from timeball.domain.model.ids import BackfillKey, JobKey, RunId, TaskKey
from timeball.domain.model.job import RuleSet
from timeball.domain.model.spent import Spent
from timeball.domain.model.target import Target
from timeball.domain.time.schedule import At, Cron, Every, OnEvents

Item = dict[str, str | int | bool]
_TAGS: Mapping[type, str] = {
    **{kind: kind.__name__ for kind in (At, Cron, Every, OnEvents)},
    **{kind: kind.type.value for kind in get_args(Target)},
}
"""What the kinds of a union are called: each value says which it is."""
_Value = TypeVar("_Value")
_Plain = Callable[[Any], Any]

_NAMES: Mapping[type, tuple[_Plain, _Plain]] = {
    JobKey: (lambda key: f"{key.tenant}#{key.job_id}", lambda text: JobKey(*text.split("#", 1))),
    BackfillKey: (
        lambda key: f"{key.job.tenant}#{key.job.job_id}.{key.name}",
        lambda text: BackfillKey(JobKey(*text.split(".", 1)[0].split("#", 1)), text.split(".", 1)[1]),
    ),
    TaskKey: (lambda key: f"{key.tenant}#{key.task_id}", lambda text: TaskKey(*text.split("#", 1))),
    RunId: (lambda run: f"{run.job.tenant}#{run}", lambda text: RunId.parse(*text.split("#", 1))),
    RuleSet: (
        lambda rules: f"{rules.version} {rules.tzdata}",
        lambda text: RuleSet(int(text.split()[0]), text.split()[1]),
    ),
    Spent: (lambda spent: " ".join(map(str, astuple(spent))), lambda text: Spent(*map(int, text.split()))),
}
"""What is text of its own: how it is written, and read."""


@dataclass(frozen=True)
class _Field:
    """A field of a value: its default (None, if it has none), and how its plain value is read.

    One `is_nested` is JSON text in a row.
    """

    name: str
    default: Any
    is_nested: bool
    read: _Plain


def to_item(value: object, without: str = "") -> Item:
    """Return a value's attributes, but for the field that its key tells."""
    item: Item = {}
    for one in _fields(type(value)):
        part = getattr(value, one.name)
        is_default = part == one.default and (one.is_nested or not part)
        if part is not None and not is_default and one.name != without:
            item[one.name] = to_text(part) if one.is_nested else _plain(part)
    return item


def from_item(kind: type[_Value], row: Mapping[str, Any], **known: object) -> _Value:
    """Return the value that a row holds, with the fields that its key tells."""
    nested = {one.name: json.loads(row[one.name]) for one in _fields(kind) if one.is_nested and one.name in row}
    return _made(kind, {**row, **nested}, **known)


def to_text(value: object) -> str:
    """Return a value as compact JSON."""
    return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))


def from_text(kind: Any, text: str) -> Any:  # noqa: ANN401 - a dataclass, or a union of them
    """Return the value that a text holds."""
    return _reader(kind)(json.loads(text))


def _made(kind: type[_Value], plain: Mapping[str, Any], **known: object) -> _Value:
    """Return a value of the fields that are known, and of the others as they are plainly, or by default."""
    found = {one.name: one.read(plain[one.name]) if one.name in plain else one.default for one in _fields(kind)}
    return kind(**{**found, **known})


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a field holds
    kind = type(value)
    if kind in _NAMES:
        return _NAMES[kind][0](value)
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(kind):
        parts = {one.name: part for one in _fields(kind) if (part := getattr(value, one.name)) != one.default}
        tag = {"kind": _TAGS[kind]} if kind in _TAGS else {}
        return {**tag, **{name: _plain(part) for name, part in parts.items() if part is not None}}
    return [_plain(part) for part in value] if kind is tuple else value


def _fields_of(kind: Any) -> tuple[_Field, ...]:  # noqa: ANN401 - a dataclass
    return tuple(map(_field, fields(kind)))


_fields: Callable[[Any], tuple[_Field, ...]] = cache(_fields_of)
"""As `cache` would type it, it would take no type."""


def _field(one: Field[Any]) -> _Field:
    kind: Any = one.type
    default = None if one.default is MISSING else one.default
    if one.default_factory is not MISSING:
        default = one.default_factory()
    return _Field(one.name, default, _is_nested(kind), _reader(kind))


def _is_nested(kind: Any) -> bool:  # noqa: ANN401 - a type, or a union of types
    kind = _only(kind)
    is_many = isinstance(kind, UnionType) or get_origin(kind) in (tuple, Mapping)
    return kind not in _NAMES and (is_many or is_dataclass(kind))


@cache
def _reader(kind: Any) -> _Plain:  # noqa: ANN401 - a type, or a union of types
    """Return what turns a plain value into one of a type."""
    kind = _only(kind)
    if kind in _NAMES:
        return _NAMES[kind][1]
    if isinstance(kind, UnionType):
        readers = {_TAGS[one]: _reader(one) for one in get_args(kind) if one is not NoneType}
        return lambda plain: readers[plain["kind"]](plain)
    if get_origin(kind) is tuple:
        read = _reader(get_args(kind)[0])
        return lambda plain: tuple(map(read, plain))
    is_value, is_enum = is_dataclass(kind), isinstance(kind, type) and issubclass(kind, Enum)
    if is_value:
        return partial(_made, kind)
    return kind if is_enum else lambda plain: plain


def _only(kind: Any) -> Any:  # noqa: ANN401 - a type, or a union of types
    """Return a type that may be None as itself."""
    if isinstance(kind, UnionType):
        some = [one for one in get_args(kind) if one is not NoneType]
        return some[0] if len(some) == 1 else kind
    return kind
