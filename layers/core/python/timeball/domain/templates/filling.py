"""The filling of a template by its context: a URL, a header's value, or a body.

Invariant: whatever the values hold, a filled URL leads to the same scheme, host and port, with as many segments and
parameters; a header stays one line; and a body of JSON or of a form keeps the structure of its template.
"""

import json
import re
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import Any, Final
from urllib.parse import quote, unquote

from timeball.domain.templates.template import (
    OF_RUN,
    Parts,
    Placeholder,
    TemplateError,
    Values,
    Vocabulary,
    field_of,
    in_payload,
    is_literal,
    json_of,
    parse,
    parse_stored,
    text_of,
)

JSON: Final = "application/json"

MAX_URL_LENGTH: Final = 8 * 1024
MAX_HEADER_BYTES: Final = 8 * 1024
MAX_BODY_BYTES: Final = 512 * 1024
"""The greatest size of a filled body, in bytes; the two constants above bound a URL and a header's value."""

_BEHIND_HOST: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#{]*[/?]")
_UNSENDABLE: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class Format(Enum):
    """The format of a body, which decides how values are escaped."""

    JSON = auto()
    FORM = auto()
    TEXT = auto()
    OTHER = auto()


def format_of(content_type: str) -> Format:
    """Return the format of a body with a Content-Type."""
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type == "application/json" or media_type.endswith("+json"):
        return Format.JSON
    return {"application/x-www-form-urlencoded": Format.FORM, "text/plain": Format.TEXT}.get(media_type, Format.OTHER)


def content_type_of(headers: Mapping[str, str]) -> str:
    """Return the Content-Type of a body, which is JSON unless a header says otherwise."""
    return next((value for name, value in headers.items() if name.lower() == "content-type"), JSON)


def check_url(text: str, vocabulary: Vocabulary = OF_RUN) -> None:
    """Raise TemplateError for a URL that cannot be filled."""
    parts = parse(text, vocabulary)
    if not is_literal(parts) and (not isinstance(parts[0], str) or not _BEHIND_HOST.match(parts[0])):
        raise TemplateError("Fill in nothing before the path: the scheme, the host and the port are always the same.")


def check_header(text: str, vocabulary: Vocabulary = OF_RUN) -> None:
    """Raise TemplateError for a header's value that cannot be filled."""
    parse(text, vocabulary)


def check_body(text: str, body_format: Format, vocabulary: Vocabulary = OF_RUN) -> None:
    """Raise TemplateError for a body that cannot be filled, or that must be JSON and is not."""
    parts = parse(text, vocabulary)
    if body_format is Format.JSON:
        _check_json(parts)
    elif body_format is Format.OTHER and not is_literal(parts):
        raise TemplateError(
            "Values are escaped for application/json and for application/x-www-form-urlencoded, and are not escaped "
            "for text/plain; give one of them as the Content-Type, or fill in nothing."
        )


def fill_url(text: str, values: Values) -> str:
    """Return a URL with each value percent-encoded, so that it stays within its segment or parameter.

    Raises TemplateError if a segment of the path would be empty, `.` or `..`, and so would vanish or lead elsewhere.
    """
    parts = parse(text)
    filled = _joined(parts, (_percent(value) for value in _found(parts, values)), MAX_URL_LENGTH, "URL")
    for before, after in zip(_segments(text), _segments(filled), strict=True):
        if "{{" in before and unquote(after) in {"", ".", ".."}:
            raise TemplateError(f"A part of the URL's path, {before}, becomes empty, . or .. in this call.")
    return filled


def fill_header(name: str, text: str, values: Values) -> str:
    """Return a header's value with values unchanged. Raises TemplateError if it would not be a single line."""
    parts = parse(text)
    filled = _joined(parts, map(text_of, _found(parts, values)), MAX_HEADER_BYTES, f"header {name}")
    if _UNSENDABLE.search(filled):
        raise TemplateError(f"A value put into the header {name} holds a line break or a control character.")
    return filled


def fill_body(text: str, body_format: Format, values: Values) -> str:
    """Return a body. In JSON, a value within a string becomes a part of it; elsewhere it is inserted as JSON."""
    parts = parse(text)
    found = _found(parts, values)
    match body_format:
        case Format.JSON:
            filled = map(_json, found, _are_within_strings(parts))
        case Format.FORM:
            filled = map(_percent, found)
        case _:
            filled = map(text_of, found)
    return _joined(parts, filled, MAX_BODY_BYTES, "body")


def over_notice(text: str, body_format: Format, notice: Mapping[str, Any]) -> str:
    """Return a template over the fields of a notice as one over its payload, which has these fields.

    A field without a value leaves nothing behind, or `null` where JSON needs a value. A job without a name has its id.
    Values are not filled in here: a value with braces would be taken for a placeholder at the call.
    """
    parts = parse_stored(text)
    are_within = iter(_are_within_strings(parts) if body_format is Format.JSON else [True] * len(parts))
    return "".join(part if isinstance(part, str) else _of_notice(part, notice, next(are_within)) for part in parts)


def _of_notice(placeholder: Placeholder, notice: Mapping[str, Any], is_within: bool) -> str:  # noqa: FBT001 - as above
    name = field_of(placeholder)
    if name is None:
        return str(placeholder)
    if name == "jobName" and not notice.get(name):
        name = "jobId"
    if notice.get(name) is None:
        return "" if is_within else "null"
    return str(in_payload(name))


def _found(parts: Parts, values: Values) -> Iterator[Any]:
    return (values.value_of(part) for part in parts if isinstance(part, Placeholder))


def _joined(parts: Parts, filled: Iterator[str], most: int, what: str) -> str:
    """Put texts in place of the placeholders, in their order.

    Raises TemplateError as soon as the result is too long.
    """
    texts: list[str] = []
    length = 0
    for part in parts:
        texts.append(part if isinstance(part, str) else next(filled))
        length += len(texts[-1].encode())
        if length > most:
            raise TemplateError(f"With its values, the {what} is longer than {most} bytes.")
    return "".join(texts)


def _json(value: Any, is_within: bool) -> str:  # noqa: ANN401, FBT001 - it is any JSON; and map takes no names
    """Return the JSON of a value, for use within a string or elsewhere."""
    return json_of(text_of(value))[1:-1] if is_within else json_of(value)


def _percent(value: Any) -> str:  # noqa: ANN401 - it is any JSON
    return quote(text_of(value), safe="")


def _segments(url: str) -> list[str]:
    """Return the segments of a URL's path, preceded by the parts before it."""
    return url.partition("?")[0].split("/")


def _are_within_strings(parts: Parts) -> list[bool]:
    """Return for each placeholder in JSON whether it is within a string."""
    found: list[bool] = []
    is_within = is_escaped = False
    for part in parts:
        if isinstance(part, Placeholder):
            found.append(is_within)
            continue
        for character in part:
            if is_escaped:
                is_escaped = False
            elif character == "\\":
                is_escaped = is_within
            elif character == '"':
                is_within = not is_within
    return found


def _check_json(parts: Parts) -> None:
    """Raise TemplateError unless the template is JSON once `null` replaces each placeholder outside strings.

    Within a string a placeholder is plain text. Next to anything but a blank or a bracket, `null` is not valid JSON.
    """
    are_within = iter(_are_within_strings(parts))
    texts = (str(part) if isinstance(part, str) or next(are_within) else "null" for part in parts)
    try:
        json.loads("".join(texts), object_pairs_hook=_check_keys, parse_constant=_refuse)
    except json.JSONDecodeError as bad:
        raise TemplateError(
            f"This is no JSON: {bad.msg} at line {bad.lineno}, column {bad.colno}, after placeholders are filled in. "
            "Write JSON, or give the target another Content-Type."
        ) from None
    except RecursionError:
        raise TemplateError("This JSON is nested too deeply.") from None


def _check_keys(pairs: list[tuple[str, object]]) -> None:
    if any("{{" in key for key, _ in pairs):
        raise TemplateError("Fill in values and no keys: a payload could repeat a key that exists already.")


def _refuse(constant: str) -> None:
    raise TemplateError(f"{constant} is no JSON.")
