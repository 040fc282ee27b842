"""The request of an event: a CloudEvent 1.0, plain JSON with a type and a source, or an array of these.

Both become a CloudEvent: attributes that plain JSON lacks are added.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from timeball.api.http.fields import INSTANT_SCHEMA
from timeball.api.http.problems import FieldError, shortened
from timeball.domain.model.terms.event import KEPT_BESIDE
from timeball.domain.time.instants import format_instant, parse_instant

MAX_EVENTS: Final = 100
SPECVERSION: Final = "1.0"

_NAME: Final = re.compile(r"[a-z0-9]{1,20}", re.ASCII)
_RESERVED: Final = ("detail", KEPT_BESIDE)
"""Names that patterns use for something else."""
_TEXTS: Final[Mapping[str, tuple[int, str]]] = {
    "id": (256, "Identifies the event together with `source`; each job runs once for it within a day."),
    "source": (1024, "The origin of the event."),
    "type": (256, "The kind of event. Patterns match it as `detail-type`."),
    "subject": (1024, "The subject of the event, within its source."),
    "datacontenttype": (256, "The media type of `data`."),
    "dataschema": (1024, "The URI of the schema of `data`."),
    "data_base64": (262_144, "Binary data in base 64; patterns cannot match it."),
}
"""The attributes that are text, with the most characters and the description of each."""
_NEEDED: Final = ("source", "type")
_FIRST: Final = ("specversion", "id", "source", "type", "time")


def _text(name: str, most: int, about: str) -> dict[str, Any]:
    kind: Any = "string" if name in _NEEDED else ["string", "null"]
    return {"type": kind, "minLength": 1, "maxLength": most, "description": about}


_EVENT: Final[dict[str, Any]] = {
    "type": "object",
    "required": [*_NEEDED],
    "properties": {
        "specversion": {
            "enum": [SPECVERSION, None],
            "description": "The version of a CloudEvent, which then needs an `id`.",
        },
        **{name: _text(name, most, about) for name, (most, about) in _TEXTS.items()},
        "time": {
            **INSTANT_SCHEMA,
            "type": ["string", "null"],
            "description": "When it happened; default: when it arrived.",
        },
        "data": {"description": "Any JSON. Patterns match it as `detail`."},
    },
    "not": {"required": ["data", "data_base64"], "properties": {"data_base64": {"type": "string"}}},
    "anyOf": [
        {"properties": {"specversion": {"type": "null"}}},
        {"required": ["id"], "properties": {"id": {"type": "string"}}},
    ],
    "patternProperties": {
        f"^(?!({'|'.join((*_TEXTS, *_RESERVED, 'specversion', 'time', 'data'))})$)[a-z0-9]{{1,20}}$": {
            "type": ["string", "integer", "boolean", "null"]
        }
    },
    "additionalProperties": False,
}


def _as_sent(schema: dict[str, Any]) -> None:
    about = schema["description"]
    schema.clear()
    many = {"type": "array", "items": {}, "minItems": 1, "maxItems": MAX_EVENTS}
    schema |= {"description": about, "anyOf": [_EVENT, many]}


class EventsRequest(BaseModel):
    """An event, as a CloudEvent 1.0 or plain JSON, or an array of up to a hundred, each with a result of its own."""

    model_config = ConfigDict(json_schema_extra=_as_sent)


def read_event(body: Mapping[str, Any], name: str, now: int) -> tuple[dict[str, Any], list[FieldError]]:
    """Validate an event: return its attributes, and every error. An event without an `id` gets `name`."""
    given = {key: value for key, value in body.items() if value is not None or key == "data"}
    errors = list(_faults(given))
    whole = {"specversion": SPECVERSION, "id": name, "time": format_instant(now), **given}
    first: dict[str, Any] = {key: whole[key] for key in _FIRST if key in whole}
    return {**first, **{key: value for key, value in whole.items() if key not in _FIRST}}, errors


def _faults(given: Mapping[str, Any]) -> Iterator[FieldError]:
    for needed in _NEEDED:
        if needed not in given:
            yield FieldError(needed, "This field is required.")
    if given.get("specversion", SPECVERSION) != SPECVERSION:
        yield FieldError("specversion", "Use 1.0, or leave it out of plain JSON.")
    elif "specversion" in given and "id" not in given:
        yield FieldError("id", "A CloudEvent needs an id; give one.")
    if "data" in given and "data_base64" in given:
        yield FieldError("data_base64", "Give either data or data_base64, not both.")
    for name, value in given.items():
        sentence = _fault(name, value)
        if sentence is not None:
            yield FieldError(shortened(name), sentence)


def _fault(name: str, value: object) -> str | None:
    """Return what is wrong with an attribute by itself; None if it is valid."""
    if name in _TEXTS:
        return _faulty_text(value, _TEXTS[name][0])
    if name == "time":
        return _faulty_time(value)
    if name in ("data", "specversion"):
        return None
    if name in _RESERVED or not _NAME.fullmatch(name):
        return "An attribute's name has up to 20 lower-case letters and digits. Put your own fields in data."
    is_plain = isinstance(value, str | int) or (isinstance(value, float) and value.is_integer())
    return None if is_plain else "An attribute is a string, a whole number, true or false; put other values in data."


def _faulty_text(value: object, most: int) -> str | None:
    if not isinstance(value, str):
        return "This must be a string."
    return None if 1 <= len(value) <= most else f"This must have 1 to {most} characters."


def _faulty_time(value: object) -> str | None:
    try:
        parse_instant(value if isinstance(value, str) else "")
    except ValueError as bad:
        return str(bad)
    return None
