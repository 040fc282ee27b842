"""Each release has a file that keeps its raw rows of every kind, the shapes of its rows, and its messages.

Until it is sealed, a file may be written anew. A sealed one says what a deployed release has written, for ever.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.contract.backends import moto
from tests.rows.broad import KEPT_AT, broad
from tests.rows.messages import messages_now
from tests.rows.shapes import shapes_now
from tests.rows.world import Row, Tables

FOLDER = Path(__file__).parent


class SealedError(Exception):
    """The release is out: its rows are as they are."""


@dataclass(frozen=True)
class KeptRelease:
    """What is kept of a release. `waiting` are the runs whose messages waited in queues at `at` (ms)."""

    name: str
    is_sealed: bool
    at: int
    shapes: Mapping[str, Any]
    messages: dict[str, Any]
    waiting: list[list[str]]
    rows: dict[str, list[Row]]

    @classmethod
    def read(cls, name: str) -> "KeptRelease":
        """Read a release's file."""
        return cls(name, **json.loads(_path(name).read_text(encoding="utf-8")))

    def write(self) -> None:
        """Write the file: a row a line, so that differences can be read."""
        parts = {key: value for key, value in vars(self).items() if key not in ("name", "rows")}
        lines = [f"{json.dumps(key)}: {_compact(value)}" for key, value in parts.items()]
        tables = [
            f"{json.dumps(table)}: [\n" + ",\n".join(map(_compact, rows)) + "\n]" for table, rows in self.rows.items()
        ]
        text = "{" + ",\n".join([*lines, '"rows": {' + ",\n".join(tables) + "}"]) + "}\n"
        _path(self.name).write_text(text, encoding="utf-8")


def releases() -> list[str]:
    """Return the names of all releases that are kept, the oldest first."""
    names = [path.stem for path in FOLDER.glob("v*.json")]
    return sorted(names, key=lambda name: [int(number) for number in name.removeprefix("v").split(".")])


def keep(name: str, *, seal: bool = False) -> KeptRelease:
    """Play the broad story, and keep its rows as those of a release. Raises SealedError."""
    if name in releases() and KeptRelease.read(name).is_sealed:
        raise SealedError(f"{name} is sealed: its rows are those of deployed stacks, and are never written again")
    with moto():
        world = broad(Tables.new())
        kept = KeptRelease(name, seal, KEPT_AT, shapes_now(), messages_now(), world.sent(), world.tables.rows())
    kept.write()
    return kept


def _path(name: str) -> Path:
    return FOLDER / f"{name}.json"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
