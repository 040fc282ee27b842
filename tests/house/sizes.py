"""Measures the size of the pieces: lines of code of a file and of a package, the share of imports, files of a folder.

A line of code is a line that is neither blank, nor a comment, nor part of a docstring.
"""

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

MOST_LINES = 300
"""How many lines of code a file may have."""

MOST_MODULES = 16
"""How many modules a folder may have, its `__init__.py` not counted."""

FLAT = {"infra": "one construct a file, beside the stack that composes them"}
"""The folders that may hold more modules, each with the reason."""

_SILENT = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)


@dataclass(frozen=True)
class Size:
    """The size of a module."""

    path: Path
    """The file."""
    code: int
    """Its lines of code, imports included."""
    imports: int
    """Its lines of imports."""


def size_of(path: Path) -> Size:
    """Measure a module."""
    text = path.read_text(encoding="utf-8")
    nodes = [*ast.walk(ast.parse(text))]
    words = {line for node in nodes if _is_text(node) for line in _lines(node)}
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in _SILENT]
    code = {line for token in tokens for line in range(token.start[0], token.end[0] + 1)} - words
    imports = {line for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for line in _lines(node)}
    return Size(path, len(code), len(imports))


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _lines(node: ast.AST) -> range:
    return range(node.lineno, node.end_lineno + 1)  # type: ignore[attr-defined]


def crowded(paths: Iterable[Path]) -> dict[Path, int]:
    """Return the folders that hold more than `MOST_MODULES` of the modules, with their numbers; FLAT ones may."""
    modules = Counter(path.parent for path in paths if path.name != "__init__.py" and path.parent.name not in FLAT)
    return {folder: number for folder, number in modules.items() if number > MOST_MODULES}
