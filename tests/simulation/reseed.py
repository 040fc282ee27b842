"""Find a new story for each deliberate fault that its story no longer shows: `make faults`.

A story changes with every additional or omitted call of the engine, and with every draw. Then a fault may have no
effect in the story of its seed. Its test searches other stories too, which takes time; this module writes the found
seed down.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from tests.simulation.faults import FAULTS
from tests.simulation.side_by_side import check

CATALOGUE = Path(__file__).parent / "faults"

_AT_ONCE = 20


def reseed(pool: ProcessPoolExecutor, seeds: Sequence[int]) -> int:
    """Find stale faults, and a story for each among some seeds. Return how many have none there."""
    stale = [*_stale(pool)]
    found = {name: _first_to_show(pool, name, seeds) for name in stale}
    for path in CATALOGUE.glob("*.py"):
        source = path.read_text()
        path.write_text(with_seeds(source, {name: seed for name, seed in found.items() if seed is not None}))
    for name, seed in found.items():
        print(f"{name}: {'no story shows it' if seed is None else f'seed {FAULTS[name].seed} is now {seed}'}")
    print(f"{len(stale)} of {len(FAULTS)} faults were stale")
    return sum(seed is None for seed in found.values())


def with_seeds(source: str, seeds: Mapping[str, int]) -> str:
    """Return a module of the catalogue with new seeds for some faults, by their names; the other seeds are kept."""
    lines = source.splitlines(keepends=True)
    for name, fault in reversed([*_faults_of(source)]):
        if name in seeds:
            given = [*fault.args[2:], *(one.value for one in fault.keywords if one.arg == "seed")]
            after = fault.args[-1]
            where = given[0] if given else after
            assert where.end_lineno is not None
            assert where.end_col_offset is not None
            start = where.col_offset if given else where.end_col_offset
            line = lines[where.end_lineno - 1].encode()
            text = f"{seeds[name]}" if given else f", {seeds[name]}"
            lines[where.end_lineno - 1] = (line[:start] + text.encode() + line[where.end_col_offset :]).decode()
    return "".join(lines)


def _faults_of(source: str) -> Iterator[tuple[str, ast.Call]]:
    """Yield the faults that a module defines, in order, with their names."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(value, ast.Call) and ast.unparse(value.func) == "Fault":
                    yield str(key.value), value


def _stale(pool: ProcessPoolExecutor) -> Iterator[str]:
    """Yield the faults that have no effect in their stories. Faults that a script shows are left out."""
    names = [name for name, fault in FAULTS.items() if not fault.is_scripted]
    for name, (_, told) in zip(names, pool.map(check, (FAULTS[name].seed for name in names), names), strict=True):
        if not any(map(FAULTS[name].is_told_by, told)):
            yield name


def _first_to_show(pool: ProcessPoolExecutor, name: str, seeds: Sequence[int]) -> int | None:
    for start in range(0, len(seeds), _AT_ONCE):
        for seed, told in pool.map(partial(check, fault=name), seeds[start : start + _AT_ONCE]):
            if any(map(FAULTS[name].is_told_by, told)):
                return seed
    return None
