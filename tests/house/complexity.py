"""Measures how many decisions a function makes: branches, conditions of comprehensions, and each `and` and `or`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from radon.complexity import cc_visit

MOST = 12
"""How many decisions a function may make."""


@dataclass(frozen=True)
class Complex:
    """A function that makes too many decisions."""

    path: Path
    line: int
    name: str
    decisions: int


def complex_in(paths: Iterable[Path]) -> Iterator[Complex]:
    """Yield the functions and methods of modules that make more decisions than `MOST`."""
    for path in paths:
        for block in cc_visit(path.read_text(encoding="utf-8")):
            if block.letter != "C" and block.complexity > MOST:
                yield Complex(path, block.lineno, block.name, block.complexity)
