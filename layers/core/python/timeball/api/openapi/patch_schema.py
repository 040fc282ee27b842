"""The JSON Schema of a merge patch (RFC 7396), made from the schema of the patched document."""

from collections.abc import Mapping
from typing import Any, Final

_NULL: Final = {"type": "null"}


def patch_of(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a patch: no field is required, objects may be partial, and null removes optional fields.

    `schemas` has the schemas that references lead to, by name; the patch's schema contains copies of them.
    """
    if "$ref" in schema:
        return patch_of(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    patch = {name: part for name, part in schema.items() if name not in {"required", "default", "allOf"}}
    if "oneOf" in schema:  # a patch need not give the discriminator
        patch = {name: part for name, part in patch.items() if name not in {"oneOf", "discriminator"}}
        patch["anyOf"] = [patch_of(part, schemas) for part in schema["oneOf"]]
    if "anyOf" in schema:
        patch["anyOf"] = [patch_of(part, schemas) for part in schema["anyOf"]]
    if "properties" in schema:
        changes = {name: patch_of(part, schemas) for name, part in schema["properties"].items()}
        needed = schema.get("required", [])
        patch["properties"] = {name: part if name in needed else _nullable(part) for name, part in changes.items()}
    if isinstance(schema.get("additionalProperties"), dict):
        patch["additionalProperties"] = _nullable(patch_of(schema["additionalProperties"], schemas))
    return patch


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    is_anything = not schema.keys() & {"type", "enum", "const", "anyOf"}
    if is_anything or _NULL in schema.get("anyOf", []):
        return schema
    return {"anyOf": [schema, _NULL]}
