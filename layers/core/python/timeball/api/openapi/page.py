"""The OpenAPI document as a page for people: plain HTML made here, without scripts or external resources."""

from collections.abc import Iterator, Mapping
from functools import cache
from html import escape
from typing import Any, Final

from timeball.api.openapi.document import document

_Schema = Mapping[str, Any]

_STYLE: Final = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
:root { color-scheme: light dark }
code { font: 14px/1.5 ui-monospace, monospace }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1rem }
td, th { border-top: 1px solid #8886; padding: .3rem .6rem .3rem 0; text-align: left; vertical-align: top }
summary { cursor: pointer; padding: .3rem 0 }
details { border-top: 1px solid #8886 }
"""


@cache
def page_text() -> str:
    """Return the page."""
    described = document()
    operations = [
        _operation(method, path, operation)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    schemas = [_schema(name, schema) for name, schema in described["components"]["schemas"].items()]
    title = f"{escape(described['info']['title'])} API {escape(described['info']['version'])}"
    return "\n".join(
        [
            "<!doctype html>",
            f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style></head><body>',
            f"<h1>{title}</h1>",
            f"<p>{escape(described['info']['description'])} Send an API key with each request: ",
            "<code>Authorization: Bearer tb_…</code>. For programs: <a href='openapi.json'>openapi.json</a>.</p>",
            "<h2>Operations</h2>",
            *operations,
            "<h2>Bodies and answers</h2>",
            *schemas,
            "</body></html>",
            "",
        ]
    )


def _operation(method: str, path: str, operation: _Schema) -> str:
    body = operation.get("requestBody", {}).get("content", {})
    return "\n".join(
        [
            f'<details id="{escape(operation["operationId"])}"><summary><code>{method.upper()} {escape(path)}</code> ',
            f"{_prose(operation['summary'])}</summary>",
            _table([_parameter(one) for one in operation.get("parameters", [])]),
            *(f"<p>Body, <code>{escape(kind)}</code>: {_type(what['schema'])}</p>" for kind, what in body.items()),
            _table([_response(status, response) for status, response in operation["responses"].items()]),
            "</details>",
        ]
    )


def _parameter(parameter: _Schema) -> tuple[str, str, str]:
    where = parameter["in"] + (", required" if parameter.get("required") else "")
    about = f"{where}; {_type(parameter['schema'])}"
    return f"<code>{escape(parameter['name'])}</code>", about, _prose(parameter.get("description", ""))


def _response(status: str, response: _Schema) -> tuple[str, str, str]:
    if "$ref" in response:
        return status, "", escape(_name(response["$ref"]).replace("-", " "))
    answers = [_type(what["schema"]) for what in response.get("content", {}).values()]
    return status, ", ".join(answers), _prose(response["description"])


def _schema(name: str, schema: _Schema) -> str:
    required = set(schema.get("required", ()))
    fields = [
        (f"<code>{escape(field)}</code>", _type(part) + ("" if field not in required else ", always"), _about(part))
        for field, part in schema.get("properties", {}).items()
    ]
    return "\n".join(
        [
            f'<details id="{escape(name)}"><summary><code>{escape(name)}</code></summary>',
            f"<p>{_about(schema)}</p>",
            _table(fields) if fields else f"<p>{_type(schema)}</p>",
            "</details>",
        ]
    )


def _type(schema: _Schema) -> str:
    """Return the type of a value as HTML: its kinds, with links to named ones, and its bounds."""
    if "$ref" in schema:
        name = escape(_name(schema["$ref"]))
        return f'<a href="#{name}">{name}</a>'
    if "enum" in schema:
        return ", ".join(f"<code>{escape(str(value))}</code>" for value in schema["enum"])
    alternatives = [_type(part) for part in schema.get("anyOf", schema.get("oneOf", schema.get("allOf", ())))]
    if alternatives:
        return " or ".join(alternatives)
    kind = escape(str(schema.get("format", schema.get("type", schema.get("const", "any JSON")))))
    inner = f" of {_type(schema['items'])}" if schema.get("items") else ""
    return f"{kind}{inner}{''.join(_bounds(schema))}"


def _bounds(schema: _Schema) -> Iterator[str]:
    for keyword, words in (
        ("minimum", "at least"),
        ("maximum", "at most"),
        ("minLength", "at least"),
        ("maxLength", "at most"),
        ("minItems", "at least"),
        ("maxItems", "at most"),
    ):
        if keyword in schema:
            unit = {"L": " characters", "I": " items"}.get(keyword[3], "")
            yield f", {words} {schema[keyword]}{unit}"


def _about(schema: _Schema) -> str:
    default = f" Default: <code>{escape(str(schema['default']))}</code>." if "default" in schema else ""
    return _prose(schema.get("description", "")) + default


def _prose(text: str) -> str:
    """Return a sentence as HTML; text between backticks becomes code."""
    parts = [escape(part) for part in text.split("`")]
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))


def _table(rows: list[tuple[str, str, str]]) -> str:
    lines = [f"<tr><td>{'</td><td>'.join(row)}</td></tr>" for row in rows]
    return f"<table>{''.join(lines)}</table>" if rows else ""


def _name(reference: str) -> str:
    return reference.rpartition("/")[2]
