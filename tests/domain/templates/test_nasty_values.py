"""No value of a payload changes the text around it."""

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from hypothesis import example, given
from hypothesis import strategies as st

from tests.domain.templates.values import values
from timeball.domain.templates.filling import Format, check_body, fill_body, fill_header, fill_url
from timeball.domain.templates.template import TemplateError
from timeball.targets.http.addresses import parse_url

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
PAYLOADS = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=6
)

NASTY = [
    '"',
    "\\",
    '","role":"admin","a":"',
    "../..",
    "?a=b&c#d",
    "%2e%2e",
    "{{payload.x}}",
    "\r\n\r\nGET /",
    "@evil:80/",
]


def whole(value: Any) -> str | None:
    """Return the text of a value; None if no request can hold it."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return None
    return text


def nasty_examples(test: Callable[..., None]) -> Callable[..., None]:
    for value in NASTY:
        test = example(value)(test)
    return test


@nasty_examples
@given(PAYLOADS)
def test_no_value_changes_the_structure_of_a_url(value: Any) -> None:
    url = "https://h.example:8443/a/{{payload.x}}/b{{payload.x}}?k={{payload.x}}&{{payload.x}}=v"
    text = whole(value)
    try:
        filled = fill_url(url, values({"x": value}))
    except TemplateError:
        assert text in (None, "", ".", "..") or len(text) > 100
        return
    assert text is not None
    for parts in (urlsplit(filled), urlsplit(str(parse_url(filled)))):  # as filled in, and as sent
        assert (parts.scheme, parts.netloc, parts.fragment) == ("https", "h.example:8443", "")
        assert [unquote(segment) for segment in parts.path.split("/")] == ["", "a", text, f"b{text}"]
        assert parse_qsl(parts.query, keep_blank_values=True) == [("k", text), (text, "v")]


@nasty_examples
@given(PAYLOADS)
def test_no_value_changes_the_structure_of_a_body(value: Any) -> None:
    text = whole(value)
    template = '{"role": "user", "a": ["{{payload.x}} {{payload.x}}", {{payload.x}}], "b": {{attempt}}}'
    check_body(template, Format.JSON)
    try:
        filled = fill_body(template, Format.JSON, values({"x": value}))
    except TemplateError:
        assert text is None
        return
    assert json.loads(filled) == {"role": "user", "a": [f"{text} {text}", value], "b": 3}


@nasty_examples
@given(PAYLOADS)
def test_no_value_changes_the_structure_of_a_form(value: Any) -> None:
    text = whole(value)
    if text is not None:
        filled = fill_body("a={{payload.x}}&b=1", Format.FORM, values({"x": value}))
        assert parse_qsl(filled, keep_blank_values=True) == [("a", text), ("b", "1")]


@nasty_examples
@given(PAYLOADS)
def test_a_header_stays_one_line(value: Any) -> None:
    try:
        filled = fill_header("X-A", "a {{payload.x}}", values({"x": value}))
    except TemplateError:
        return
    assert filled == f"a {whole(value)}"
    assert not re.search(r"[\r\n\x00]", filled)
