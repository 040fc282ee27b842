"""Whether jobs may depend on the jobs that their requests name, also on items of the same batch.

Items of a batch refer to each other by names, and are created in rounds; both are read from the bodies as they arrived,
because invalid bodies are refused later.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from timeball.api.http.problems import FieldError
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JOB_ID, JobKey
from timeball.domain.model.jobs.job import JobSpec
from timeball.engine.context import Context
from timeball.engine.dependencies.examine import Examined, ParentFault, circle_sentence, examine

NO_REFS: Final[Mapping[str, str]] = MappingProxyType({})
REFUSED = "This names an item of the batch that was refused."


@dataclass
class BatchItem:
    """A spec that a request asks for, and the result of its examination."""

    spec: JobSpec
    ref: str | None = None
    """The name by which other items of the batch refer to it: its `ref`, or a name that no other item has."""
    is_refused: bool = False
    """Whether it is refused for another reason."""
    ancestors: int = 0
    """At least how many jobs it depends on, directly or not."""
    errors: list[FieldError] = field(default_factory=list)
    """What is wrong with its parents."""

    @property
    def is_lost(self) -> bool:
        """Whether it will not be created."""
        return self.is_refused or bool(self.errors)


def examine_together(
    context: Context,
    items: Sequence[BatchItem],
    within: Mapping[str, str],
    lost: Collection[str] = (),
    standing: Mapping[str, str] = NO_REFS,
) -> list[BatchItem]:
    """Examine the items of a request together; return them in an order in which parents come first.

    `lost` are the refs of items that could not be read; such a ref never means a stored job. `standing` maps refs to
    existing jobs. The caller sees only jobs with the tags of `within`. Each item gets its parents, the schedule that it
    inherits, and its errors. Items without parents cost nothing. Raises UnavailableError.
    """
    names = {item.ref: item.spec.key.job_id for item in items if item.ref} | {**standing}
    for item in items:
        _resolve(item, names, lost)
    by_key = {item.spec.key: item for item in items}
    order = [by_key[key] for key in _parents_first(by_key)]
    for item in order:
        _refuse_with_parents(item, by_key)
    good = [item for item in order if not item.is_lost]
    for item, examined in zip(good, examine(context, [item.spec for item in good], within), strict=True):
        item.spec, item.ancestors = examined.spec, examined.ancestors
        item.errors += field_errors(examined)
    for item in order:
        _refuse_with_parents(item, by_key)
    return order


def _resolve(item: BatchItem, names: Mapping[str, str], lost: Collection[str]) -> None:
    """Replace the refs of an item's parents by the ids of their jobs; a ref of a lost item is an error."""
    parents, for_each = item.spec.depends_on, item.spec.for_each
    item.errors += [
        FieldError(f"dependsOn.{index}", REFUSED) for index, one in enumerate(parents) if one.job_id in lost
    ]
    meant = tuple(evolve(one, job_id=names.get(one.job_id, one.job_id)) for one in parents)
    item.spec = evolve(item.spec, depends_on=meant, for_each=for_each and names.get(for_each, for_each))
    item.errors += misnamed(item.spec)


def field_errors(examined: Examined) -> list[FieldError]:
    """Return what is wrong with the parents of a job as bad fields."""
    return [_error(fault) for fault in examined.faults]


def _error(fault: ParentFault) -> FieldError:
    return FieldError("dependsOn" if fault.index is None else f"dependsOn.{fault.index}", fault.sentence)


def misnamed(spec: JobSpec) -> list[FieldError]:
    """Return an error for each parent whose name cannot be a job's id."""
    return [
        FieldError(f"dependsOn.{index}", "You have no job with this id; create it first.")
        for index, parent in enumerate(spec.depends_on)
        if not JOB_ID.fullmatch(parent.job_id)
    ]


def _parents_first(items: Mapping[JobKey, BatchItem]) -> list[JobKey]:
    """Return the items in an order in which parents come first; each item of a circle gets an error."""
    order: dict[JobKey, None] = {}
    for start in items:
        path: dict[JobKey, Iterator[JobKey]] = {}
        if start not in order:
            path[start] = iter(items[start].spec.parent_keys)
        while path:
            key, parents = next(reversed(path.items()))
            parent = next((one for one in parents if one in items and one not in order), None)
            if parent is None:
                order[key] = None
                path.popitem()
            elif parent in path:
                circle = [*list(path)[list(path).index(parent) :], parent]
                for one in circle[:-1]:
                    sentence = circle_sentence([items[each].ref or each.job_id for each in circle])
                    items[one].errors = [FieldError("dependsOn", sentence)]
            else:
                path[parent] = iter(items[parent].spec.parent_keys)
    return list(order)


def _refuse_with_parents(item: BatchItem, items: Mapping[JobKey, BatchItem]) -> None:
    for index, key in enumerate(item.spec.parent_keys):
        parent = items.get(key)
        if parent is not None and parent is not item and parent.is_lost and not item.errors:
            item.errors.append(FieldError(f"dependsOn.{index}", REFUSED))


def refs_of(
    bodies: Sequence[Mapping[str, Any]], given: Sequence[str | None], job_ids: Collection[str | None]
) -> list[str | None]:
    """Return the name by which others may refer to each item: its `ref`, or a name that means no other item."""
    named = [name if isinstance(name := body.get("name"), str) and name else None for body in bodies]
    counts = Counter(named)
    taken = {*given, *job_ids}
    return [
        name if ref is None and len(bodies) > 1 and counts[name] == 1 and name not in taken else ref
        for ref, name in zip(given, named, strict=True)
    ]


def next_round(
    bodies: Sequence[Mapping[str, Any]],
    names: Sequence[Collection[str]],
    left: Sequence[int],
    standing: Collection[int],
) -> list[int]:
    """Return the indexes of the items that come next: all of new jobs, or all of `standing` jobs.

    A round has one item of each unique key, and no item that depends on an item of a later round. Where items wait for
    each other, the first standing job comes alone; without one, the new jobs come together.
    """
    changing = [index for index in left if index in standing]
    new = _first_of_each_key(bodies, [index for index in left if index not in standing])
    going, behind = new, {*left} - {*new}
    while waiting := {*waiting_for(bodies, names, going, behind)}:
        going, behind = sorted({*going} - waiting), behind | waiting
    free = sorted({*changing} - {*waiting_for(bodies, names, changing, left)})
    return going or free or changing[:1] or new


def _first_of_each_key(bodies: Sequence[Mapping[str, Any]], indexes: Sequence[int]) -> list[int]:
    """Return the items without a unique key, and the first item of each unique key."""
    keys = {index: bodies[index].get("uniqueKey") for index in reversed(indexes)}
    return sorted({index if key is None else f"key {key}": index for index, key in keys.items()}.values())


def waiting_for(
    bodies: Sequence[Mapping[str, Any]],
    names: Sequence[Collection[str]],
    indexes: Sequence[int],
    others: Collection[int],
) -> list[int]:
    """Return which items depend on others of the batch."""
    known = {name for index in others for name in names[index]}
    return [index for index in indexes if any(one in known - {*names[index]} for one in _parent_names(bodies[index]))]


def with_ids(body: Mapping[str, Any], ids: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the body of an item with the ids of the jobs that its parents' names mean in the batch."""
    parents, for_each = body.get("dependsOn"), body.get("forEach")
    if not isinstance(parents, list):
        return body
    resolved = {**body, "dependsOn": [_with_id(one, ids) for one in parents]}
    if isinstance(for_each, str) and for_each not in [one.get("as") for one in parents if isinstance(one, dict)]:
        resolved["forEach"] = ids.get(for_each, for_each)
    return resolved


def _with_id(parent: object, ids: Mapping[str, str]) -> object:
    if isinstance(parent, dict):
        return {**parent, "jobId": _with_id(parent["jobId"], ids)} if "jobId" in parent else parent
    return ids.get(parent, parent) if isinstance(parent, str) else parent


def refused_parents(body: Mapping[str, Any], lost: Collection[str]) -> list[FieldError]:
    """Return an error for each parent that names a refused item."""
    names = _parent_names(body)
    return [FieldError(f"dependsOn.{index}", REFUSED) for index, name in enumerate(names) if name in lost]


def _parent_names(body: Mapping[str, Any]) -> list[str]:
    named = body.get("dependsOn")
    parents = named if isinstance(named, list) else []
    ids = [parent.get("jobId") if isinstance(parent, dict) else parent for parent in parents]
    return [job_id if isinstance(job_id, str) else "" for job_id in ids]
