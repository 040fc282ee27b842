"""Finds names with more than one meaning, and words that strangers misread in identifiers."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

BANNED = frozenset(
    {
        *("place", "places", "tell", "tells", "told", "untold", "pardon", "pardoned", "stamp", "parked", "heed"),
        *("hear", "hears", "hearing", "witness", "treat", "treated", "who", "whom", "whoever", "nobody", "somebody"),
    }
)
"""Words that no identifier contains, as a whole part between underscores and capitals."""

BANNED_IN_A_ROW = ("by_hand", "let_try", "let_raise", "carrier_failures", "move_on", "looked_back", "look_again")
"""The same of several parts in a row."""

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def homonyms_in(paths: Iterable[Path]) -> Mapping[str, list[Path]]:
    """Return the top-level classes that several modules define, by name, with these modules."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in paths:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(path)
    return {name: modules for name, modules in found.items() if len(modules) > 1}


def banned_in(paths: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Yield each identifier that a module binds and that has a banned word, once a module."""
    for path in paths:
        for name in sorted(set(_bound(ast.parse(path.read_text(encoding="utf-8"))))):
            parts = "_".join(part.lower() for part in _PARTS.findall(name))
            if BANNED & set(parts.split("_")) or any(f"_{row}_" in f"_{parts}_" for row in BANNED_IN_A_ROW):
                yield path, name


def _bound(tree: ast.AST) -> Iterator[str]:
    """Yield the names of classes, functions, parameters, variables and attributes that a module binds."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
