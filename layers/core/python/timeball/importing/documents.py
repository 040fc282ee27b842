"""Reads JSON and YAML: one document, or several after each other.

YAML needs the extra `import`. CloudFormation's short forms (`!GetAtt`) become the long ones (`{"Fn::GetAtt": ...}`).
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from timeball.importing.definitions import UnreadableError

_NO_YAML: Final = "YAML needs PyYAML: pip install pyyaml. JSON needs nothing."


def read_documents(text: str) -> list[Any]:
    """Return the documents of a text. Raises UnreadableError if it is neither JSON nor YAML."""
    stripped = text.strip()
    if stripped[:1] in {"{", "["}:
        try:
            return [*_json_values(stripped)]
        except ValueError:
            pass  # YAML has braces too
    try:
        import yaml  # noqa: PLC0415 - an extra
    except ImportError:
        raise UnreadableError(_NO_YAML) from None

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """A loader that makes nothing but data."""

    Loader.add_multi_constructor("!", _long_form)
    try:
        return [document for document in yaml.load_all(text, Loader) if document is not None]
    except (yaml.YAMLError, RecursionError) as bad:
        raise UnreadableError(f"This is neither JSON nor YAML: {' '.join(str(bad).split())}.") from None


def _json_values(text: str) -> Iterator[Any]:
    """Yield JSON values that follow each other, as a loop of a shell prints them."""
    decoder = json.JSONDecoder()
    while text:
        value, end = decoder.raw_decode(text)
        yield value
        text = text[end:].lstrip()


def _long_form(loader: Any, suffix: str, node: Any) -> Mapping[str, Any]:  # noqa: ANN401 - PyYAML has no types
    name = suffix if suffix in {"Ref", "Condition"} else f"Fn::{suffix}"
    if hasattr(node, "value") and isinstance(node.value, str):
        return {name: loader.construct_scalar(node)}
    sequence = all(not isinstance(part, tuple) for part in node.value)
    return {name: loader.construct_sequence(node, True) if sequence else loader.construct_mapping(node, True)}  # noqa: FBT003
