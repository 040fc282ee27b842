"""Text with placeholders, such as {{jobId}} and {{payload.customer.id}}, and no logic.

Invariant: what is literal stays as it was written, and a value comes in through the escape of where it stands alone.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

_NAMES: Final = ("jobId", "runId", "fireTime", "attempt")
_PAYLOAD: Final = re.compile(r"payload(\.[A-Za-z0-9_-]+)*", re.ASCII)
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,6}", re.ASCII)
_LONGEST_SHOWN: Final = 60


class TemplateError(ValueError):
    """A template cannot be read, or not be filled in; the message is a sentence, and tells nothing of a payload."""


@dataclass(frozen=True)
class Placeholder:
    """What is to be filled in, by its name."""

    name: str

    def __str__(self) -> str:
        return f"{{{{{self.name}}}}}"


Parts = tuple[str | Placeholder, ...]
"""A template: literal texts, and placeholders between them."""

Escape = Callable[[Any], str]
"""Returns the text that stands for a JSON value; raises TemplateError if none can."""


@dataclass(frozen=True)
class Values:
    """What one call fills in; `payload` is JSON text, or None.

    One that `has_parents` is the member `payload` of that, beside what came of parents, which is not filled in: nobody
    vouches for it.
    """

    job_id: str
    run_id: str
    fire_time: str
    attempt: int
    payload: str | None
    has_parents: bool = False

    def value_of(self, placeholder: Placeholder) -> Any:  # noqa: ANN401 - it is any JSON
        """Return the JSON value that a placeholder stands for. Raises TemplateError if the payload lacks it."""
        first, *path = placeholder.name.split(".")
        if first != "payload":
            return self._own[first]
        if self.payload is None:
            raise TemplateError(f"The target asks for {placeholder}, and this call has no payload.")
        value = self._read
        for step in path:
            if isinstance(value, dict) and step in value:
                value = value[step]
            elif isinstance(value, list) and _INDEX.fullmatch(step) and int(step) < len(value):
                value = value[int(step)]
            else:
                raise TemplateError(f"The target asks for {placeholder}, which the payload of this call lacks.")
        return value

    @cached_property
    def _own(self) -> dict[str, str | int]:
        return dict(zip(_NAMES, (self.job_id, self.run_id, self.fire_time, self.attempt), strict=True))

    @cached_property
    def _read(self) -> Any:  # noqa: ANN401 - it is any JSON
        read = json.loads(self.payload or "null")
        return read["payload"] if self.has_parents else read


def parse(text: str) -> Parts:
    """Return the parts of a template. Raises TemplateError for a placeholder that is not closed, or names nothing."""
    return tuple(_parts(text))


def _parts(text: str) -> Iterator[str | Placeholder]:
    while text:
        literal, opening, rest = text.partition("{{")
        if literal:
            yield literal
        if not opening:
            return
        name, closing, text = rest.partition("}}")
        if not closing:
            raise TemplateError("A {{ is not closed by a }}.")
        if name not in _NAMES and not _PAYLOAD.fullmatch(name):
            raise _unknown(name)
        yield Placeholder(name)


def _unknown(name: str) -> TemplateError:
    if name.strip() != name:
        return TemplateError(f"Write {{{{{_shown(name.strip())}}}}} without blanks.")
    return TemplateError(
        f"{{{{{_shown(name)}}}}} names nothing; there are {{{{jobId}}}}, {{{{runId}}}}, {{{{fireTime}}}}, "
        "{{attempt}}, {{payload}}, and what is in that, such as {{payload.customer.id}} or {{payload.lines.0}}."
    )


def _shown(name: str) -> str:
    return name if len(name) <= _LONGEST_SHOWN else f"{name[:_LONGEST_SHOWN]}..."


def is_literal(parts: Parts) -> bool:
    """Say whether there is nothing to be filled in."""
    return not any(isinstance(part, Placeholder) for part in parts)


def text_of(value: Any) -> str:  # noqa: ANN401 - it is any JSON
    """Return a JSON value as text: a string as it is, anything else as its JSON.

    Raises TemplateError for what no request can hold: half of a surrogate pair, a number beyond all others.
    """
    return _whole(value) if isinstance(value, str) else json_of(value)


def json_of(value: Any) -> str:  # noqa: ANN401 - it is any JSON
    """Return a JSON value as JSON. Raises TemplateError as `text_of` does."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        raise TemplateError("What is to be sent holds a number that is too large.") from None
    return _whole(text)


def _whole(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise TemplateError("What is to be sent holds half of a surrogate pair, which is no character.") from None
    return text
