"""Values that are filled into templates, and templates and values that are refused."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.domain.templates.values import values
from timeball.domain.templates.filling import (
    MAX_BODY_BYTES,
    Format,
    check_body,
    check_header,
    check_url,
    fill_body,
    fill_header,
    fill_url,
    format_of,
)
from timeball.domain.templates.template import TemplateError, Values, parse

ORDER = {"id": "a/b ?&#", "lines": [{"sku": 'ä"<x>'}, {"n": 1.5}], "is": True, "none": None, "line\nfeed": 1, "7": 8}


@pytest.mark.parametrize(
    ("url", "filled"),
    [
        ("https://h/{{jobId}}/{{attempt}}", "https://h/nightly/3"),
        ("https://h/?at={{fireTime}}", "https://h/?at=2026-11-21T09%3A30%3A00.023Z"),
        ("https://h/{{runId}}", "https://h/nightly.1795253400023.s"),
        ("https://h/{{payload.id}}/x", "https://h/a%2Fb%20%3F%26%23/x"),
        ("https://h?{{payload.id}}={{payload.lines.0.sku}}", "https://h?a%2Fb%20%3F%26%23=%C3%A4%22%3Cx%3E"),
        ("https://h/?l={{payload.lines.1}}", "https://h/?l=%7B%22n%22%3A1.5%7D"),  # not a string: its JSON
        ("https://h/{{payload.is}}-{{payload.none}}-{{payload.7}}", "https://h/true-null-8"),
        ("https://h/a.{{payload.lines.1.n}}", "https://h/a.1.5"),
        ("http://u/%7B%7Bit}}", "http://u/%7B%7Bit}}"),  # without an opening there is nothing to close
    ],
)
def test_a_url_takes_values_percent_encoded(url: str, filled: str) -> None:
    check_url(url)
    assert fill_url(url, values(ORDER)) == filled


@pytest.mark.parametrize(
    ("body", "filled"),
    [
        ('{"text": "run {{runId}}: {{payload.lines.0.sku}}"}', {"text": 'run nightly.1795253400023.s: ä"<x>'}),
        ('{"n": {{attempt}}, "line": {{payload.lines.1}}}', {"n": 3, "line": {"n": 1.5}}),
        ('[{{payload}},"{{payload.lines}}"]', [ORDER, '[{"sku":"ä\\"<x>"},{"n":1.5}]']),
        ('{"a":{"b":{{payload.is}}}}', {"a": {"b": True}}),  # of five braces the first two close it
        ("{{payload.none}}", None),
        (r'"\"{{payload.id}}\\{{jobId}}"', '"a/b ?&#\\nightly'),  # a quote that is escaped ends no string
        ('"{"', "{"),
    ],
)
def test_a_json_body_takes_json_and_within_a_string_text(body: str, filled: Any) -> None:
    check_body(body, Format.JSON)
    assert json.loads(fill_body(body, Format.JSON, values(ORDER))) == filled


def test_a_form_takes_values_percent_encoded_and_plain_text_takes_them_unchanged() -> None:
    assert fill_body("id={{payload.id}}&n=1", Format.FORM, values(ORDER)) == "id=a%2Fb%20%3F%26%23&n=1"
    assert fill_body("{{payload.id}}\n", Format.TEXT, values(ORDER)) == "a/b ?&#\n"
    assert fill_body("<a/>", Format.OTHER, values()) == "<a/>"


def test_a_header_takes_values_unchanged() -> None:
    check_header("Bearer {{payload.id}}")
    assert fill_header("Authorization", "Bearer {{payload.id}}", values(ORDER)) == "Bearer a/b ?&#"


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("application/json", Format.JSON),
        ("Application/JSON; charset=utf-8", Format.JSON),
        ("application/cloudevents+json", Format.JSON),
        ("application/x-www-form-urlencoded", Format.FORM),
        ("text/plain;charset=utf-8", Format.TEXT),
        ("application/xml", Format.OTHER),
        ("", Format.OTHER),
    ],
)
def test_the_content_type_decides_how_a_body_is_escaped(content_type: str, expected: Format) -> None:
    assert format_of(content_type) is expected


@pytest.mark.parametrize(
    ("template", "part"),
    [
        ("{{jobId", "not closed"),
        ("{{", "not closed"),
        ("{{}}", "{{}} names nothing"),
        ("{{job}}", "{{job}} names nothing"),
        ("{{payload.}}", "{{payload.}} names nothing"),
        ("{{payload..x}}", "names nothing"),
        ("{{payload.x y}}", "names nothing"),
        ("{{payloads}}", "names nothing"),
        ("{{jobId.x}}", "names nothing"),
        ("{{{jobId}}}", "{{{jobId}} names nothing"),
        ("{{#if payload.x}}", "names nothing"),
        ("{{payload.é}}", "names nothing"),
        ("{{ payload.x }}", "Write {{payload.x}} without blanks."),
        ("{{" + "x" * 100 + "}}", "{{" + "x" * 60 + "...}} names nothing"),
    ],
)
def test_an_invalid_template_is_refused_with_a_sentence(template: str, part: str) -> None:
    with pytest.raises(TemplateError, match=re.escape(part)):
        parse(template)


@pytest.mark.parametrize(
    "url",
    [
        "{{payload.url}}",
        "{{payload.scheme}}://h/",
        "https://{{payload.host}}/",
        "https://h{{payload.x}}",  # it could become h.evil.example
        "https://h{{payload.x}}/",
        "https://h:{{payload.port}}/",
        "https://u:{{payload.x}}@h/",
    ],
)
def test_nothing_before_the_path_of_a_url_is_filled_in(url: str) -> None:
    with pytest.raises(TemplateError, match="before the path"):
        check_url(url)


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ('{"a": 1{{attempt}}}', "no JSON"),  # 13? or 1"x"?
        ('{"a": -{{attempt}}}', "no JSON"),
        ("{{attempt}}{{attempt}}", "no JSON"),
        ('{"a": "{{payload.x}}}', "no JSON"),
        (r'"\{{payload.x}}"', "no JSON"),  # a value of "n" would be a line feed
        ("{{{payload.key}}: 1}", "names nothing"),
        ("{ {{payload.key}}: 1}", "no JSON"),
        ('{"role": "user", "{{payload.key}}": 1}', "values and no keys"),
        ('{"a": NaN}', "NaN is no JSON"),
        ("hello", "no JSON"),
        ("", "no JSON"),
        ("[" * 16_000, "nested too deep"),
    ],
)
def test_a_body_that_is_no_json_whatever_is_filled_in_is_refused(body: str, part: str) -> None:
    with pytest.raises(TemplateError, match=part):
        check_body(body, Format.JSON)


def test_a_placeholder_in_a_format_without_a_known_escape_is_refused() -> None:
    check_body("<a>1</a>", Format.OTHER)
    with pytest.raises(TemplateError, match="give one of them as the Content-Type"):
        check_body("<a>{{payload.x}}</a>", Format.OTHER)


@pytest.mark.parametrize(
    ("path", "payload"),
    [
        ("payload.x", {"y": 1}),
        ("payload.x", [1]),
        ("payload.x", "text"),
        ("payload.1", [1]),
        ("payload.-1", [1]),
        ("payload.00", [1]),
        ("payload.x.y", {"x": None}),
        ("payload.9999999", [1]),
        ("payload", None),
    ],
)
def test_a_value_that_the_payload_lacks_is_an_error_that_names_it_and_shows_nothing_else(
    path: str, payload: Any
) -> None:
    with pytest.raises(TemplateError, match=re.escape(f"{{{{{path}}}}}")) as raised:
        fill_url(f"https://h/{{{{{path}}}}}", values(payload))
    assert "text" not in str(raised.value)


@pytest.mark.parametrize("value", ["", ".", ".."])
@pytest.mark.parametrize("url", ["https://h/a/{{payload.x}}/b", "https://h/{{payload.x}}", "https://h/{{payload.x}}?q"])
def test_a_segment_that_would_lead_elsewhere_is_an_error(url: str, value: str) -> None:
    with pytest.raises(TemplateError, match=re.escape("A part of the URL's path, {{payload.x}}, becomes empty")):
        fill_url(url, values({"x": value}))


@pytest.mark.parametrize("url", ["https://h/.{{payload.x}}/b", "https://h/%2e{{payload.x}}"])
def test_a_segment_that_leads_elsewhere_only_with_its_neighbours_is_an_error(url: str) -> None:
    for value in (".", ""):
        with pytest.raises(TemplateError, match="becomes empty"):
            fill_url(url, values({"x": value}))


@pytest.mark.parametrize("value", ["a\r\nX-B: 2", "a\n", "\r", "a\x00", "\x7f"])
def test_a_header_that_would_break_the_request_is_an_error_that_does_not_show_the_value(value: str) -> None:
    with pytest.raises(TemplateError, match="into the header X-A holds a line break") as raised:
        fill_header("X-A", "v {{payload.x}}", values({"x": value}))
    assert value not in str(raised.value)


@pytest.mark.parametrize("payload", ['"\\ud800"', '{"x": "\\ud800"}', "1e999"])
def test_a_value_that_no_request_can_hold_is_an_error(payload: str) -> None:
    given_values = Values("j", "j.1.s", "t", 1, payload)
    fills: list[Callable[[], str]] = [
        lambda: fill_url("https://h/?a={{payload}}", given_values),
        lambda: fill_header("X-A", "{{payload}}", given_values),
        lambda: fill_body('["{{payload}}"]', Format.JSON, given_values),
        lambda: fill_body("[{{payload}}]", Format.JSON, given_values),
    ]
    for fill in fills:
        with pytest.raises(TemplateError, match=r"half of a surrogate pair|too large"):
            fill()


def test_a_filled_template_is_bounded_however_often_it_repeats_a_large_value() -> None:
    large = values({"x": "x" * 200_000})
    body = "[" + ",".join(["{{payload.x}}"] * 1_000) + "]"
    with pytest.raises(TemplateError, match=f"the body is longer than {MAX_BODY_BYTES} bytes"):
        fill_body(body, Format.JSON, large)
    with pytest.raises(TemplateError, match="the URL is longer than 8192 bytes"):
        fill_url("https://h/{{payload.x}}", large)
    with pytest.raises(TemplateError, match="the header X-A is longer than 8192 bytes"):
        fill_header("X-A", "{{payload.x}}", large)
