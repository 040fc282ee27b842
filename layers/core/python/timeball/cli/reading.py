"""Reads what a command is given: JSON, times, tags. A wrong text raises CommandError with one sentence."""

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from timeball.cli.status import CommandError
from timeball.cli.surroundings import Surroundings

_AGO = re.compile(r"(\d{1,6})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def json_in(surroundings: Surroundings, name: str, option: str) -> Any:  # noqa: ANN401 - whatever JSON it is
    """Return the JSON of a file, or of standard input for `-`."""
    return _parsed(surroundings.read(name), f"{option}: {name}" if name != "-" else f"{option}: the standard input")


def json_of(surroundings: Surroundings, text: str, option: str) -> Any:  # noqa: ANN401 - whatever JSON it is
    """Return the JSON of a text; `@` and the name of a file mean what is in the file."""
    return json_in(surroundings, text[1:], option) if text.startswith("@") else _parsed(text, f"{option}: the value")


def object_in(surroundings: Surroundings, name: str, option: str) -> dict[str, Any]:
    """Return the JSON object of a file, or of standard input for `-`."""
    found = json_in(surroundings, name, option)
    if not isinstance(found, dict):
        raise CommandError(f"{option}: Give a JSON object, such as {{...}}.")
    return found


def _parsed(text: str, subject: str) -> Any:  # noqa: ANN401 - whatever JSON it is
    try:
        return json.loads(text, parse_constant=_no_number)
    except ValueError as bad:
        raise CommandError(f"{subject} is no JSON: {bad}.") from None
    except RecursionError:
        raise CommandError(f"{subject} is no JSON: it has too many levels.") from None


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def instant_of(surroundings: Surroundings, text: str | None) -> str | None:
    """Return a time as the API takes it: `90m`, `6h` or `2d` mean so long ago, other texts stay as they are."""
    ago = _AGO.fullmatch(text or "")
    if ago is None:
        return text
    at = surroundings.now() // 1000 - int(ago[1]) * _SECONDS[ago[2]]
    if at < 0:
        raise CommandError(f"{text} ago lies before 1970.")
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def tags_of(texts: Sequence[str] | None) -> dict[str, str]:
    """Return tags by their keys."""
    tags = {}
    for text in texts or ():
        key, colon, value = text.partition(":")
        if not key or not colon:
            raise CommandError(f"--tag: Write a tag as key:value, such as team:web, and not {text!r}.")
        tags[key] = value
    return tags


def without_nones(**fields: object) -> dict[str, Any]:
    """Return the fields that are given, by their names in the API."""
    return {name: value for name, value in fields.items() if value is not None}
