"""Values as rows and back, by the types of their fields: an attribute has the name of its field.

An attribute that a row lacks is read as the field's default, so older rows can be read after a field is added. None is
omitted, and so is a nested or empty value that equals its default: rows stay small, and the default of a stored field
must never change. A nested value is compact JSON text, so that every attribute is text, a number or a flag.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache, lru_cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin

from timeball.domain.model.ids import BackfillKey, JobKey, RunId, TaskKey
from timeball.domain.model.jobs.job import RuleSet
from timeball.domain.model.runs.values import Spent
from timeball.domain.model.terms.dependency import Ended, State
from timeball.domain.model.terms.target import Target
from timeball.domain.time.schedule import At, Cron, Every, OnEvents

Item = dict[str, str | int | bool]
_TAGS: Mapping[type, str] = {
    **{kind: kind.__name__ for kind in (At, Cron, Every, OnEvents)},
    **{kind: kind.type.value for kind in get_args(Target)},
}
"""The names of the kinds of a union: each value carries the name of its kind."""
_Value = TypeVar("_Value")
_Plain = Callable[[Any], Any]


def _to_ended(state: str, fire_at: str, created_at: str, job_id: str, generation: str = "1") -> Ended:
    return Ended(job_id, State(state), int(fire_at), int(created_at), int(generation))


def _of_ended(one: Ended) -> str:
    of = "" if one.generation == 1 else f" {one.generation}"
    return f"{one.state} {one.fire_at} {one.created_at} {one.job_id}{of}"


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
    Ended: (_of_ended, lambda text: _to_ended(*text.split(" "))),
    Spent: (lambda spent: " ".join(map(str, spent.counts)), lambda text: Spent(*map(int, text.split()))),
}
"""The types with a text form of their own: how it is written, and read."""


_AS_IT_IS: _Plain = lambda plain: plain  # noqa: E731 - one function, by which it is known
_KEPT_TEXTS = 512
"""How many values of a field are remembered by their text: most jobs share their policies with others."""


class _Field:
    """A field of a value: its default (None, if it has none), and how to read its attribute.

    A field that `is_nested` is JSON text in a row; `read` takes the text, `read_plain` the parsed text.
    """

    def __init__(self, one: Field[Any]) -> None:
        self.name, self.default = one.name, None if one.default is MISSING else one.default
        if one.default_factory is not MISSING:
            self.default = one.default_factory()
        kind: Any = one.type
        self.is_nested = _is_nested(kind)
        self.read = self.read_plain = _reader(kind)
        if self.is_nested:
            self.read = lru_cache(_KEPT_TEXTS)(lambda text: self.read_plain(json.loads(text)))
        self._last: tuple[Any, str | int | bool | None] = (None, None)

    def written(self, part: Any) -> str | int | bool | None:  # noqa: ANN401 - whatever a field holds
        """Return the attribute of a part; None if it is omitted.

        The last one is remembered: most of what a swap writes was there before, as the very same objects.
        """
        last, written = self._last
        if part is last:
            return written
        if self.is_nested:
            written = None if part == self.default else to_text(part)
        else:
            written = _plain(part) if part or part != self.default else None
        self._last = (part, written)
        return written


class _Codec:
    """How the values of one dataclass are written and read, determined once."""

    def __init__(self, kind: Any) -> None:  # noqa: ANN401 - a dataclass
        self.fields = tuple(map(_Field, fields(kind)))
        self.listed = [(one.name, one.default, one) for one in self.fields]
        self._kind, self._defaults = kind, {one.name: one.default for one in self.fields}
        self._is_plain = not hasattr(kind, "__post_init__") and "__slots__" not in vars(kind)
        self.read = {one.name: one.read for one in self.fields}
        self.read_plain = {one.name: one.read_plain for one in self.fields}

    def made(self, plain: Mapping[str, Any], readers: Mapping[str, _Plain], known: Mapping[str, object]) -> Any:  # noqa: ANN401
        """Return a value from the known fields, and the others in plain form or by default."""
        found = self._defaults.copy()
        for name, part in plain.items():
            read = readers.get(name)
            if read is not None:
                found[name] = part if read is _AS_IT_IS else read(part)
        found |= known
        if not self._is_plain:
            return self._kind(**found)
        value = object.__new__(self._kind)  # as `evolve` does: a constructor would set fifty fields one by one
        vars(value).update(found)
        return value


def to_item(value: object, without: str = "") -> Item:
    """Return a value's attributes, without the field that its key holds."""
    item: Item = {}
    for name, default, one in _codec(type(value)).listed:
        part = getattr(value, name)
        if part is None or name == without:
            continue
        if type(part) in _FLAT:
            if part or part != default:
                item[name] = part
        elif (written := one.written(part)) is not None:
            item[name] = written
    return item


def from_item(kind: type[_Value], row: Mapping[str, Any], **known: object) -> _Value:
    """Return the value that a row holds, with the fields that its key holds."""
    codec = _codec(kind)
    value: _Value = codec.made(row, codec.read, known)
    return value


def to_text(value: object) -> str:
    """Return a value as compact JSON."""
    return _JSON.encode(_plain(value))


_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def from_text(kind: Any, text: str) -> Any:  # noqa: ANN401 - a dataclass, or a union of them
    """Return the value that a text holds."""
    return _reader(kind)(json.loads(text))


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a field holds
    return _writer(type(value))(value)


def _writer_of(kind: Any) -> _Plain:  # noqa: ANN401 - a type
    """Return a function that turns a value of a type into a plain one."""
    if kind in _NAMES:
        return _NAMES[kind][0]
    if issubclass(kind, Enum):
        return attrgetter("value")
    if kind is tuple:
        return lambda parts: [_plain(part) for part in parts]
    if not is_dataclass(kind):
        return _AS_IT_IS
    defaults = [(one.name, one.default) for one in _codec(kind).fields]
    tagged: Any = kind
    tag = {"kind": _TAGS[tagged]} if tagged in _TAGS else {}

    def plain(value: Any) -> dict[str, Any]:  # noqa: ANN401 - of that type
        parts: dict[str, Any] = {**tag}
        for name, default in defaults:
            part = getattr(value, name)
            if part is not default and part is not None and part != default:
                parts[name] = part if type(part) in _FLAT else _plain(part)
        return parts

    return plain


_FLAT = frozenset({str, int, bool})

# With the type that `cache` would give them, they would accept no type.
_codec: Callable[[Any], _Codec] = cache(_Codec)
_writer: Callable[[Any], _Plain] = cache(_writer_of)


def _is_nested(kind: Any) -> bool:  # noqa: ANN401 - a type, or a union of types
    kind = _only(kind)
    is_many = isinstance(kind, UnionType) or get_origin(kind) in (tuple, Mapping)
    return kind not in _NAMES and (is_many or is_dataclass(kind))


@cache
def _reader(kind: Any) -> _Plain:  # noqa: ANN401 - a type, or a union of types
    """Return a function that turns a plain value into one of a type."""
    kind = _only(kind)
    if kind in _NAMES:
        return _NAMES[kind][1]
    if isinstance(kind, UnionType):
        readers = {_TAGS[one]: _reader(one) for one in get_args(kind) if one is not NoneType}
        return lambda plain: readers[plain["kind"]](plain)
    if get_origin(kind) is tuple:
        read = _reader(get_args(kind)[0])
        return lambda plain: tuple(map(read, plain))
    if is_dataclass(kind):
        return lambda plain: _codec(kind).made(plain, _codec(kind).read_plain, {})
    is_enum = isinstance(kind, type) and issubclass(kind, Enum)
    return kind if is_enum else _AS_IT_IS


def _only(kind: Any) -> Any:  # noqa: ANN401 - a type, or a union of types
    """Return the only type of a union with None, or the type itself."""
    if isinstance(kind, UnionType):
        some = [one for one in get_args(kind) if one is not NoneType]
        return some[0] if len(some) == 1 else kind
    return kind
