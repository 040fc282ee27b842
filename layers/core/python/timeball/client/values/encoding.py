"""Turns values into the API's JSON, and refuses nonsense with one sentence."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from typing import Any, Final, Literal

from timeball.client.answers import json_name


class Unset(Enum):
    """The mark of a field that is not given, where None is a value."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return self.name


UNSET: Final = Unset.UNSET

Given = object | Literal[Unset.UNSET]
"""Any JSON, or nothing."""


def json_of(value: object) -> object:
    """Return what `json.dumps` can write: values as objects without the fields that are not given, times as texts."""
    if is_dataclass(value) and not isinstance(value, type):
        own = getattr(value, "to_json", None)
        return json_of(own() if own else given_fields(value))
    if isinstance(value, Mapping):
        return {str(name): json_of(one) for name, one in value.items() if one is not UNSET}
    if isinstance(value, list | tuple | set | frozenset):
        return [json_of(one) for one in value]
    if isinstance(value, datetime):
        return instant_text(value)
    if isinstance(value, date):
        return value.isoformat()
    return whole_seconds(value) if isinstance(value, timedelta) else value


def given_fields(value: object) -> dict[str, Any]:
    """Return the fields of a value that are given, by their names in the API."""
    found = {one.name: getattr(value, one.name) for one in fields(value)}  # type: ignore[arg-type]
    return {json_name(name): one for name, one in found.items() if one is not None and one is not UNSET}


def instant_text(at: datetime) -> str:
    """Return a time as the API takes it; a time without a zone names no instant, and is refused."""
    if at.tzinfo is None:
        raise ValueError(f"{at.isoformat()} has no time zone: give one, such as tzinfo=datetime.UTC.")
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def whole_seconds(duration: timedelta) -> int:
    """Return the seconds of a duration, which has no fraction of one."""
    seconds = duration.total_seconds()
    if seconds != int(seconds):
        raise ValueError(f"{duration} is not a number of whole seconds: Timeball counts those.")
    return int(seconds)


def refuse_unless(sentence: str, *, holds: bool) -> None:
    """Raise ValueError with a sentence unless something holds."""
    if not holds:
        raise ValueError(sentence)


def refuse_unknown(name: str, value: object, known: tuple[str, ...]) -> None:
    """Raise ValueError if a value that is given is none of the known ones."""
    if value is not None and value not in known:
        raise ValueError(f"{name} is one of {', '.join(known)}, and not {value!r}.")


def refuse_outside(name: str, value: float | timedelta | None, least: float, most: float | None = None) -> None:
    """Raise ValueError if a number that is given is outside its bounds."""
    if value is None:
        return
    number = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(value, bool) or not isinstance(number, int | float):
        raise ValueError(f"{name} is a number, and not {value!r}.")  # noqa: TRY004 - every refusal is a ValueError
    if number < least or (most is not None and number > most):
        bounds = f"{least:g} or more" if most is None else f"from {least:g} to {most:g}"
        raise ValueError(f"{name} is {bounds}, and not {number:g}.")
