"""A setting is declared once: as a field of a dataclass, with its default, its bounds and its meaning.

`shards: int = whole(4, 1, 256, "Shards of the due index")`. The infrastructure, the functions and the documents read
the field. Settings may contain other settings; a name means the same in all of them. Invariant: values that were read
lie within their bounds, and all problems are reported at once.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass
from typing import Any, TypeVar

_Kind = TypeVar("_Kind")


_UNSUPPORTED = re.compile(r"eusc-|\w+-iso[a-z]?-")


class SettingsError(ValueError):
    """Some settings are unknown, missing or unusable; the message has a line for each."""


def unsupported(region: str) -> str | None:
    """Return why Timeball cannot be deployed in a region, by its AWS partition; None if it can."""
    if not _UNSUPPORTED.match(region):
        return None
    return f"Timeball stands in the partitions aws, aws-cn and aws-us-gov of AWS, and {region} is in another."


def setting(default: int | str, meaning: str, parse: Callable[[str], int | str]) -> Any:  # noqa: ANN401 - as `field`
    """Declare a setting. `parse` raises ValueError with the end of a sentence that begins with the setting's name."""
    return field(default=default, metadata={"meaning": meaning, "parse": parse})


def whole(default: int, low: int, high: int, meaning: str) -> Any:  # noqa: ANN401 - as `field`
    """Declare a whole number within bounds."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"\d{1,9}", text) or not low <= int(text) <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return int(text)

    return setting(default, meaning, parse)


def one_of(default: int | str, choices: Iterable[int | str], meaning: str) -> Any:  # noqa: ANN401 - as `field`
    """Declare a choice."""
    by_text = {str(choice): choice for choice in choices}

    def parse(text: str) -> int | str:
        if text not in by_text:
            raise ValueError(f"must be one of {', '.join(by_text)}")
        return by_text[text]

    return setting(default, meaning, parse)


def read(kind: type[_Kind], given: Mapping[str, str], called: Callable[[str], str]) -> _Kind:
    """Read settings from `given`, where `called` maps a field's name to its key; a missing setting has its default.

    A setting without a default must be given. Raises SettingsError.
    """
    values, problems = {}, []
    for one in fields(kind):  # type: ignore[arg-type] # a dataclass
        try:
            values[one.name] = _value(one, given, called)
        except SettingsError as error:
            problems.append(str(error))
    if problems:
        raise SettingsError("\n".join(problems))
    return kind(**values)


def written(settings: Any, called: Callable[[str], str]) -> dict[str, str]:  # noqa: ANN401 - any dataclass
    """Return settings in the form that `read` reads."""
    texts: dict[str, str] = {}
    for one in fields(settings):
        value = getattr(settings, one.name)
        texts |= written(value, called) if is_dataclass(value) else {called(one.name): str(value)}
    return texts


def _value(one: Field[Any], given: Mapping[str, str], called: Callable[[str], str]) -> Any:  # noqa: ANN401 - of any type
    if isinstance(one.type, type) and is_dataclass(one.type):
        return read(one.type, given, called)
    name = called(one.name)
    text = given.get(name)
    if one.default is MISSING and not text:
        raise SettingsError(f"Set {name}.")
    if text is None:
        return one.default
    try:
        return one.metadata.get("parse", str)(text)
    except ValueError as error:
        raise SettingsError(f"{name}={text} {error}") from None
