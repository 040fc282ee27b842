"""Ids of existing resources, learned from every answer, and lent to requests whose ids would name nothing.

The names are those of the path parameters of the document, so a new resource is learned without a change here.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote
from zlib import crc32

from schemathesis import Case, GenerationMode, Response
from schemathesis.core.parameters import ParameterLocation

_KEPT = 40
"""For each kind this many ids are remembered, the newest ones."""


class Ids:
    """The ids that the answers of one campaign have named."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        names = {template: tuple(re.findall(r"{(\w+)}", template)) for template in document["paths"]}
        self._templates = {
            re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(template))): template for template in names
        }
        self._known: dict[tuple[str, ...], list[dict[str, Any]]] = {kind: [] for kind in names.values() if kind}

    def learn(self, case: Case[Any], response: Response) -> None:
        """Remember the ids in an answer, unless it is a problem."""
        if response.status_code >= 300:
            return
        # The ids of a case are escaped as they are sent; a lent id must fit its schema.
        self._keep({name: unquote(str(value)) for name, value in (case.path_parameters or {}).items()})
        for location in response.headers.get("location", []):
            for pattern in self._templates:
                if match := pattern.fullmatch(location):
                    self._keep({name: unquote(value) for name, value in match.groupdict().items()})
        if "json" in response.headers.get("content-type", [""])[0] and case.path.startswith("/v1"):
            for found in _objects(json.loads(response.content)):
                self._keep(found)

    def lend(self, case: Case[Any]) -> None:
        """Replace valid but invented ids of a request by existing ones, most of the time."""
        names = tuple(case.path_parameters or {})
        if names and _is_good(case, ParameterLocation.PATH):
            lent = self._one_of(names, case.path_parameters)
            if lent != case.path_parameters:  # setting them validates them again, and escapes fit no pattern
                case.path_parameters = lent
        for name in {*(case.query or {})} & {name for (name, *more) in self._known if not more}:
            if _is_good(case, ParameterLocation.QUERY) and isinstance(case.query, dict):
                case.query |= self._one_of((name,), {name: case.query[name]})

    def _one_of(self, names: tuple[str, ...], drawn: Mapping[str, Any]) -> dict[str, Any]:
        """Choose by the drawn values, so that the same draw chooses the same id while nothing new is learned."""
        known = self._known.get(names, [])
        place = crc32(repr(drawn).encode("utf-8", "surrogatepass")) % (len(known) + 1 + len(known) // 8)
        return dict(known[place]) if place < len(known) else dict(drawn)

    def _keep(self, found: Mapping[str, Any]) -> None:
        for names, known in self._known.items():
            one = {name: found[name] for name in names if isinstance(found.get(name), str | int)}
            if len(one) == len(names) and one not in known:
                known.append(one)
                del known[:-_KEPT]


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(part)


def _is_good(case: Case[Any], location: ParameterLocation) -> bool:
    component = case.meta.components.get(location) if case.meta else None
    return component is not None and component.mode is GenerationMode.POSITIVE
