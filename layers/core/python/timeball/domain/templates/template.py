"""Text with placeholders, such as {{jobId}} and {{payload.customer.id}}, and no logic.

Invariant: literal text stays as it was written, and each value is escaped for the context of its placeholder.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

_NAMES: Final = ("jobId", "runId", "fireTime", "attempt")
_PAYLOAD: Final = re.compile(r"payload(\.[A-Za-z0-9_-]+)*", re.ASCII)
_OF_PAYLOAD: Final = "payload."
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,6}", re.ASCII)
_LONGEST_SHOWN: Final = 60


class TemplateError(ValueError):
    """A template cannot be read or filled. The message is a sentence, and reveals nothing of a payload."""


@dataclass(frozen=True)
class Placeholder:
    """A placeholder for a value."""

    name: str
    """The path of the value, such as `payload.customer.id`."""

    def __str__(self) -> str:
        return f"{{{{{self.name}}}}}"


@dataclass(frozen=True)
class Vocabulary:
    """The names that a template may have, besides `payload`."""

    names: tuple[str, ...]
    """The names."""
    has_known_payload: bool
    """Whether the payload has the members of these names and no others."""
    about: str
    """The end of a sentence that lists what there is."""

    def knows(self, name: str) -> bool:
        """Say whether a placeholder may have this name."""
        if self.has_known_payload:
            return name == "payload" or name.removeprefix(_OF_PAYLOAD) in self.names
        return name in self.names or _PAYLOAD.fullmatch(name) is not None


def _shown_names(names: Iterable[str]) -> str:
    return ", ".join(f"{{{{{name}}}}}" for name in names)


OF_RUN: Final = Vocabulary(
    _NAMES,
    has_known_payload=False,
    about=f"{_shown_names(_NAMES)}, {{{{payload}}}}, and parts of the payload, such as {{{{payload.customer.id}}}} or "
    "{{payload.lines.0}}.",
)
"""The names in the target of a job or a task."""

NOTICE_FIELDS: Final = (
    "type",
    "jobId",
    "jobName",
    "runId",
    "fireTime",
    "reason",
    "attempts",
    "at",
    "blockedBy",
    "consoleUrl",
)
"""The fields of a notice."""

OF_NOTICE: Final = Vocabulary(
    NOTICE_FIELDS,
    has_known_payload=True,
    about=f"the fields of a notice, {_shown_names(NOTICE_FIELDS)}, and {{{{payload}}}}, the notice as JSON.",
)
"""The names in a target of `notify`."""

_OF_ANY: Final = Vocabulary((*_NAMES, *NOTICE_FIELDS), has_known_payload=False, about="others.")
"""All names: a row may have been written before targets of `notify` had names of their own."""

Parts = tuple[str | Placeholder, ...]
"""A template: literal texts, and placeholders between them."""


@dataclass(frozen=True)
class Values:
    """The values of one call."""

    job_id: str
    """For {{jobId}}."""
    run_id: str
    """For {{runId}}."""
    fire_time: str
    """For {{fireTime}}: ISO 8601."""
    attempt: int
    """For {{attempt}}."""
    payload: str | None
    """For {{payload}} and its parts: JSON text; None: the call has no payload."""
    has_parents: bool = False
    """The user's payload is the member `payload`; parents' results beside it are untrusted, and never filled in."""

    def value_of(self, placeholder: Placeholder) -> Any:  # noqa: ANN401 - it is any JSON
        """Return the JSON value of a placeholder. Raises TemplateError if the payload lacks it."""
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


def parse(text: str, vocabulary: Vocabulary = OF_RUN) -> Parts:
    """Return the parts of a template.

    Raises TemplateError for a placeholder that is not closed or has an unknown name.
    """
    return tuple(_parts(text, vocabulary))


def parse_stored(text: str) -> Parts:
    """Return the parts of a template of `notify` from a row."""
    return parse(text, _OF_ANY)


def field_of(placeholder: Placeholder) -> str | None:
    """Return the field of a notice that a placeholder names, by itself or as a member of the payload; None: none."""
    name = placeholder.name.removeprefix(_OF_PAYLOAD)
    return name if name in NOTICE_FIELDS else None


def in_payload(name: str) -> Placeholder:
    """Return the placeholder of a member of the payload."""
    return Placeholder(_OF_PAYLOAD + name)


def _parts(text: str, vocabulary: Vocabulary) -> Iterator[str | Placeholder]:
    while text:
        literal, opening, rest = text.partition("{{")
        if literal:
            yield literal
        if not opening:
            return
        name, closing, text = rest.partition("}}")
        if not closing:
            raise TemplateError("A {{ is not closed by a }}.")
        if not vocabulary.knows(name):
            raise _unknown(name, vocabulary)
        yield Placeholder(name)


def _unknown(name: str, vocabulary: Vocabulary) -> TemplateError:
    if name.strip() != name:
        return TemplateError(f"Write {{{{{_shown(name.strip())}}}}} without blanks.")
    return TemplateError(f"{{{{{_shown(name)}}}}} names nothing; there are {vocabulary.about}")


def _shown(name: str) -> str:
    return name if len(name) <= _LONGEST_SHOWN else f"{name[:_LONGEST_SHOWN]}..."


def is_literal(parts: Parts) -> bool:
    """Say whether a template has no placeholders."""
    return not any(isinstance(part, Placeholder) for part in parts)


def text_of(value: Any) -> str:  # noqa: ANN401 - it is any JSON
    """Return a JSON value as text: a string as it is, anything else as its JSON.

    Raises TemplateError for what no request can hold: half of a surrogate pair, or a number that is too large.
    """
    return _whole(value) if isinstance(value, str) else json_of(value)


def json_of(value: Any) -> str:  # noqa: ANN401 - it is any JSON
    """Return a JSON value as JSON. Raises TemplateError as `text_of` does."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        raise TemplateError("A value holds a number that is too large.") from None
    return _whole(text)


def _whole(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise TemplateError("A value holds half of a surrogate pair, which is no character.") from None
    return text
