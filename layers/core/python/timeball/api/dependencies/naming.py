"""The names by which items of a batch refer to each other, and the rounds in which they are created.

Reads the bodies as they arrived; invalid bodies are refused later.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

Bodies = Sequence[Mapping[str, Any]]


def refs_of(bodies: Bodies, given: Sequence[str | None]) -> list[str | None]:
    """Return the name by which others may refer to each item: its `ref`, or a name that no other item has."""
    named = [name if isinstance(name := body.get("name"), str) and name else None for body in bodies]
    counts = Counter(named)
    return [
        name if ref is None and len(bodies) > 1 and counts[name] == 1 and name not in given else ref
        for ref, name in zip(given, named, strict=True)
    ]


def next_round(bodies: Bodies, refs: Sequence[str | None], left: Sequence[int]) -> list[int]:
    """Return the indexes of the items that are created next.

    A round has one item of each unique key, and no item that depends on an item of a later round, unless all do.
    """
    keys = {index: bodies[index].get("uniqueKey") for index in left}
    first = {index if key is None else f"key {key}": index for index, key in reversed(keys.items())}
    going, behind = sorted(first.values()), {*left} - {*first.values()}
    while waiting := {index for index in going if _depends_on_any(bodies[index], {refs[one] for one in behind})}:
        going, behind = [index for index in going if index not in waiting], behind | waiting
    return going or sorted(first.values())


def _depends_on_any(body: Mapping[str, Any], refs: Collection[str | None]) -> bool:
    named = body.get("dependsOn")
    parents = named if isinstance(named, list) else []
    ids = [parent.get("jobId") if isinstance(parent, dict) else parent for parent in parents]
    return any(isinstance(job_id, str) and job_id in refs for job_id in ids)
