"""Writes the generated parts of the client: `python -m docs.client`.

`timeball/client/sync` is `timeball/client/aio` without its `async` and `await`. `timeball/client/models.py` has a
class for each answer in docs/openapi.json, written by datamodel-code-generator.
"""

# ruff: noqa: INP001 -- a folder of documents with scripts, not a package

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from timeball.client import Timeball

DOCS = Path(__file__).parent
CLIENT = DOCS.parent / "layers/core/python/timeball/client"
HEADER = "# Generated from {source} by `python -m docs.client`: change that instead.\n"

_WORDS = (
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bAsync(?=[A-Z])", ""),
    (r"\b__a(iter|next|enter|exit)__\b", r"__\1__"),
    (r"\basync_(?=\w)", ""),
    (r"\bAwaitable\[(\w+)\]", r"\1"),
    (r"\baclose\b", "close"),
    (r"\bclient\.aio\b", "client.sync"),
    (r"for programs with an event loop", "for programs without an event loop"),
)

_WRITERS_ONLY = frozenset(
    {"default", "maximum", "maxItems", "maxLength", "minimum", "minItems", "minLength", "pattern"}
)
"""Bounds in schemas: a reader needs none, and each would become a type of its own."""


def synchronous(text: str) -> str:
    """Return the code of a module without its event loop."""
    for pattern, replacement in _WORDS:
        text = re.sub(pattern, replacement, text)
    return text


def answers(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schemas of all answers that are a success, and of their parts, as a program reads them."""
    schemas, found = document["components"]["schemas"], dict[str, Any]()
    open_ = [
        name
        for path in document["paths"].values()
        for operation in path.values()
        for status, answer in operation["responses"].items()
        if status < "3"
        for name in _named(answer.get("content", {}).get("application/json", {}).get("schema"))
    ]
    while open_:
        name = open_.pop()
        if name not in found:
            found[name] = _as_read(schemas[name])
            open_ += _named(found[name])
    return dict(sorted(found.items()))


def _named(schema: object) -> Iterator[str]:
    """Yield the names of the schemas that one refers to."""
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from _named(part)
    if isinstance(schema, dict) and "$ref" in schema:
        yield schema["$ref"].rpartition("/")[2]


def _as_read(schema: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a schema of what is read: a field that may be left out is read as null, or as an empty list."""
    if isinstance(schema, list):
        return [_as_read(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    read = {name: _as_read(part) for name, part in schema.items() if name not in {*_WRITERS_ONLY, "properties"}}
    fields = {name: _as_read(part) for name, part in schema.get("properties", {}).items()}
    if fields:
        required = schema.get("required", ())
        read["properties"] = {name: one if name in required else _or_null(one) for name, one in fields.items()}
        read["required"] = list(fields)
    return read


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    if schema.get("type") in ("array", "object") or not schema.keys() & {"type", "$ref", "const", "enum"}:
        return schema
    description = schema.pop("description", "")
    return {"anyOf": [schema, {"type": "null"}], "description": description}


def models() -> str:
    """Return the code of the models."""
    document = json.loads((DOCS / "openapi.json").read_text(encoding="utf-8"))
    schemas = {"openapi": "3.1.0", "info": {"title": "", "version": ""}, "paths": {}, "components": {}}
    schemas["components"] = {"schemas": answers(document)}
    with TemporaryDirectory() as folder:
        source, written = Path(folder, "answers.json"), Path(folder, "models.py")
        source.write_text(json.dumps(schemas), encoding="utf-8")
        _run(
            "datamodel-codegen",
            *("--input", source, "--input-file-type", "openapi", "--output", written, "--ignore-pyproject"),
            *("--output-model-type", "dataclasses.dataclass", "--custom-template-dir", DOCS / "client_models"),
            *("--snake-case-field", "--enum-field-as-literal", "all", "--use-type-alias"),
            *("--output-datetime-class", "datetime", "--use-schema-description", "--field-include-all-keys"),
            *("--formatters", "builtin", "--disable-warnings", "--target-python-version", "3.11"),
        )
        code = written.read_text(encoding="utf-8")
    _, _, classes = code.partition("from __future__ import annotations")
    classes = classes.replace(
        "from dataclasses import dataclass", "from timeball.client.answers import Answer, Identified"
    )
    return (
        HEADER.format(source="docs/openapi.json")
        + "# ruff: noqa: D209, E501 -- the document's sentences stay whole\n"
        + '"""The answers of the API: a class for each, whose fields are read from its JSON."""\n\n'
        + f"from __future__ import annotations\n{classes}"
    )


def methods_as_markdown() -> str:
    """Return the methods of the client as a table, by the first sentences of their docstrings."""
    opened = Timeball("https://timeball.example", "tb_key")
    found = {f"tb.{name}": method for name, method in _methods(Timeball)}
    for name, resource in vars(opened).items():
        if not name.startswith("_"):
            found |= {f"tb.{name}.{method}": code for method, code in _methods(type(resource))}
    rows = [f"| `{name}({_parameters(code)})` | {_sentence(code)} |" for name, code in found.items()]
    return "\n".join(["| method | does |", "|---|---|", *rows])


def _methods(kind: type) -> Iterator[tuple[str, Callable[..., object]]]:
    for name, method in vars(kind).items():
        if inspect.isfunction(method) and not name.startswith("_"):
            yield name, method


def _parameters(method: Callable[..., object]) -> str:
    return ", ".join(list(inspect.signature(method).parameters)[1:])


def _sentence(method: Callable[..., object]) -> str:
    text, _, _ = (inspect.getdoc(method) or "").partition("\n")
    return text[0].lower() + text[1:].rstrip(".")


def generated() -> Mapping[Path, str]:
    """Return the text of each generated file."""
    sources = sorted((CLIENT / "aio").glob("*.py"))
    written = {"models.py": models()} | {
        f"sync/{source.name}": HEADER.format(source=f"aio/{source.name}")
        + synchronous(source.read_text(encoding="utf-8"))
        for source in sources
    }
    with TemporaryDirectory() as folder:
        for name, code in written.items():
            file = Path(folder, name)
            file.parent.mkdir(exist_ok=True)
            file.write_text(code, encoding="utf-8")
        _tidy(folder)
        return {CLIENT / name: Path(folder, name).read_text(encoding="utf-8") for name in written}


def _tidy(folder: str) -> None:
    """Write code as ruff does: shorter lines join, imports have another order."""
    config = ("--quiet", "--no-cache", "--config", "pyproject.toml")
    _run("ruff", "check", *config, "--fix-only", "--unsafe-fixes", "--select", "I,F401,UP028,UP037,C416", folder)
    _run("ruff", "format", *config, folder)


def _run(tool: str, *arguments: str | Path) -> None:
    """Run a tool of this environment in the repository's root."""
    subprocess.run([Path(sys.executable).with_name(tool), *arguments], check=True, cwd=DOCS.parent)  # noqa: S603


def main() -> None:
    """Write what differs, and remove what is no longer generated."""
    wanted = generated()
    for path in (CLIENT / "sync").glob("*.py"):
        if path not in wanted:
            path.unlink()
    for path, text in wanted.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path.name}\n")


if __name__ == "__main__":
    main()
