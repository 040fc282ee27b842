"""Whether jobs may depend on the jobs that their requests name, also on items of the same batch."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from timeball.api.http.problems import FieldError
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JOB_ID, JobKey
from timeball.domain.model.jobs.job import JobSpec
from timeball.engine.context import Context
from timeball.engine.dependencies.examine import Examined, ParentFault, cycle_sentence, examine

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
    names = {**{item.ref: item.spec.key.job_id for item in items if item.ref}, **standing}
    for item in items:
        parents = enumerate(item.spec.depends_on)
        item.errors += [FieldError(f"dependsOn.{index}", REFUSED) for index, one in parents if one.job_id in lost]
        meant = [evolve(one, job_id=names.get(one.job_id, one.job_id)) for one in item.spec.depends_on]
        for_each = item.spec.for_each and names.get(item.spec.for_each, item.spec.for_each)
        item.spec = evolve(item.spec, depends_on=tuple(meant), for_each=for_each)
        item.errors += misnamed(item.spec)
    by_key = {item.spec.key: item for item in items}
    order = [by_key[key] for key in _parents_first(by_key)]
    for item in order:
        _refuse_with_parents(item, by_key)
    good = [item for item in order if not (item.is_refused or item.errors)]
    for item, examined in zip(good, examine(context, [item.spec for item in good], within), strict=True):
        item.spec, item.ancestors = examined.spec, examined.ancestors
        item.errors += field_errors(examined)
    for item in order:
        if not item.errors:
            _refuse_with_parents(item, by_key)
    return order


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
    """Return the items in an order in which parents come first; each item of a cycle gets an error."""
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
                cycle = [*list(path)[list(path).index(parent) :], parent]
                for one in cycle[:-1]:
                    sentence = cycle_sentence([items[each].ref or each.job_id for each in cycle])
                    items[one].errors = [FieldError("dependsOn", sentence)]
            else:
                path[parent] = iter(items[parent].spec.parent_keys)
    return list(order)


def _refuse_with_parents(item: BatchItem, items: Mapping[JobKey, BatchItem]) -> None:
    for index, key in enumerate(item.spec.parent_keys):
        parent = items.get(key)
        if parent is not None and parent is not item and (parent.errors or parent.is_refused) and not item.errors:
            item.errors.append(FieldError(f"dependsOn.{index}", REFUSED))
