"""Each body and each answer in the document has an example, which the API gave and which satisfies its schema."""

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from docs.examples import as_text
from tests.api.client import DOCUMENT
from timeball.api.openapi.document import TAGS
from timeball.api.openapi.examples import EXAMPLES


def _contents() -> Iterator[tuple[str, Any]]:
    """Yield each content of the document that is JSON, with a name."""
    for methods in DOCUMENT["paths"].values():
        for operation in methods.values():
            name = operation["operationId"]
            for content in operation.get("requestBody", {}).get("content", {}).values():
                yield f"{name}, body", content
            for status, answer in operation["responses"].items():
                for media_type, content in answer.get("content", {}).items():
                    if status < "300" and media_type == "application/json" and content["schema"]:
                        yield f"{name}, {status}", content


def _problems() -> Iterator[tuple[str, Any]]:
    for slug, response in DOCUMENT["components"]["responses"].items():
        yield slug, response["content"]["application/problem+json"]


@pytest.fixture(scope="module")
def recording() -> str:
    return as_text()


def test_the_examples_are_what_the_api_answers(recording: str) -> None:
    assert EXAMPLES.read_text(encoding="utf-8") == recording, "Run: .venv/bin/python -m docs.examples"


def test_each_body_and_each_answer_has_an_example() -> None:
    assert [name for name, content in _contents() if "example" not in content] == []


@pytest.mark.parametrize(("name", "content"), [*_contents(), *_problems()], ids=lambda part: str(part)[:40])
def test_an_example_satisfies_its_schema(name: str, content: dict[str, Any]) -> None:
    found = Draft202012Validator({**DOCUMENT, **content["schema"]}).iter_errors(content["example"])
    assert [error.message for error in found] == [], name


def test_each_operation_has_the_tag_of_its_package_and_each_tag_is_described() -> None:
    used = {tag for methods in DOCUMENT["paths"].values() for one in methods.values() for tag in one["tags"]}
    assert used == set(TAGS), "Describe the package in TAGS, or remove it there."


def test_each_shared_response_is_used() -> None:
    used = {
        answer["$ref"].rpartition("/")[2]
        for methods in DOCUMENT["paths"].values()
        for operation in methods.values()
        for answer in operation["responses"].values()
        if "$ref" in answer
    }
    assert set(DOCUMENT["components"]["responses"]) == used
