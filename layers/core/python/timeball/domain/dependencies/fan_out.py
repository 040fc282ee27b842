"""The progress of a head, which has a run for each item: pure functions of its row, its items, and their runs.

Invariant: a list of items never changes. Its digest names it, and the row of a run names the digest. So every process
that reads that row, at any time, sees the same items under the same numbers, from 1.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from timeball.domain.dependencies.evaluation import next_evaluation_at
from timeball.domain.dependencies.passing import is_cut, read_json
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import asked_to_stop, cleared, ended, fanned_out, mended, reopened
from timeball.domain.model.runs.values import MAX_ITEMS, FanOut, Guarantor, Outcome
from timeball.domain.planning.ledger import queued_run

FIELD = "fanOut"
"""The field of an answer that names items."""
MAX_ITEMS_BYTES = 256 * 1024
"""The largest size of a run's items together, in bytes."""


_NO_REQUESTS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class NamedItems:
    """The items that a run has named."""

    items: tuple[str, ...] = ()
    """The items, as JSON texts."""
    requests: Mapping[str, str] = field(default_factory=dict)
    """The requests that named them, with a digest of each request's content."""

    @property
    def is_too_large(self) -> bool:
        """Whether they are too large to be stored."""
        return sum(len(item) for item in self.items) > MAX_ITEMS_BYTES

    @property
    def is_too_many(self) -> bool:
        """Whether there are more than a run may name."""
        return len(self.items) > MAX_ITEMS

    def with_more(self, items: Iterable[str], requests: Mapping[str, str] = _NO_REQUESTS) -> "NamedItems":
        """Return them with more items at the end."""
        return NamedItems((*self.items, *items), {**self.requests, **requests})

    def to_text(self) -> str:
        """Return the text that is stored."""
        return f'{{"requests":{json.dumps(self.requests)},"items":[{",".join(self.items)}]}}'


def to_named(text: str | None) -> NamedItems:
    """Return the items of a stored text; None stands for no items."""
    if text is None:
        return NamedItems()
    stored = json.loads(text)
    return NamedItems(tuple(map(item_text, stored["items"])), stored["requests"])


def item_text(item: Any) -> str:  # noqa: ANN401 - any JSON
    """Return an item as it is stored. Raises ValueError for a value outside JSON, such as an infinite number."""
    return json.dumps(item, separators=(",", ":"), allow_nan=False)


def answered_items(answer: str | None) -> list[str] | None:
    """Return the items that an answer names, an empty list if it names none; None if its `fanOut` cannot be used."""
    read = read_json(answer or "")
    if read is None:
        return None if answer and is_cut(answer) and f'"{FIELD}"' in answer else []
    document = read[0]
    if not isinstance(document, dict) or FIELD not in document:
        return []
    named = document[FIELD]
    try:
        return list(map(item_text, named)) if isinstance(named, list) else None
    except (ValueError, RecursionError):
        return None


def begun(head: Run, fan: FanOut, named: NamedItems | None, digest: str | None, now: int) -> Run:
    """Return a run that its parents have let run, as it begins with its items.

    It is under way, or has ended if there are no items or they cannot be used.
    """
    if named is None or named.is_too_many or named.is_too_large:
        return ended(head, RunState.FAILED, now, Guarantor.SCAN, Reason.BAD_ITEMS)
    if not named.items:
        return ended(head, RunState.SKIPPED, now, Guarantor.SCAN, Reason.NO_ITEMS)
    return fanned_out(head, evolve(fan, items=digest, count=len(named.items)), now)


def waiting_again(head: Run, now: int) -> Run:
    """Return a run that its parents have let run as waiting again: the run that names its items was started again."""
    return evolve(head, fan=None, waits=True, let_go_at=None, reason=Reason.WAITING_FOR_PARENTS, due_at=now)


def item_id(head: RunId, number: int) -> RunId:
    """Return the id of an item's run."""
    of = "" if head.origin is Origin.SCHEDULE else f"{head.origin[0]}{head.series}"
    return RunId(head.job, head.fire_at, Origin.DEPENDENCY, f"{number}{of}", head.generation)


def number_of(item: RunId) -> int | None:
    """Return the number of an item's run, from 1; None for any other run."""
    return int(re.split("[a-z]", item.series)[0]) if item.origin is Origin.DEPENDENCY else None


def head_of(item: RunId) -> RunId | None:
    """Return the head of an item's run; None for any other run."""
    return item.cycle.run_of(item.job, item.generation) if item.origin is Origin.DEPENDENCY else None


def item_run(head: Run, job: Job, number: int, digest: str, now: int) -> Run:
    """Return the run of an item; `digest` names its payload."""
    run = queued_run(job, Origin.DEPENDENCY, head.id.fire_at, max(now, head.budget_at or 0))
    run = evolve(run, id=item_id(head.id, number), root=head.root)
    return evolve(run, not_before=head.not_before, work_digest=digest, let_go_at=now)


def is_of_before(item: Run, meant: Run, fan: FanOut) -> bool:
    """Say whether an item's run belongs to a cycle before its rerun, or has another payload than it should have."""
    if fan.since is None:
        return False
    is_meant = item.work_digest == meant.work_digest or item.payload_edited_at is not None
    return (item.budget_at or item.created_at) < fan.since or not is_meant


def still_to_end(item: Run, meant: Run, fan: FanOut) -> bool:
    """Say whether an outdated item cannot run again yet: it has not ended, or its effects are not carried out."""
    return is_of_before(item, meant, fan) and (not item.is_terminal or item.due_at is not None)


def tried_again(item: Run, meant: Run, head: Run, fan: FanOut, now: int) -> Run | None:
    """Return an item's run as it is run again, by a rerun of its cycle or a retry of the head; None: unchanged."""
    since = max(now, head.budget_at or 0)
    if is_of_before(item, meant, fan):
        return evolve(cleared(item, since, waits=False), work_digest=meant.work_digest, payload_edited_at=None)
    is_asked = head.budget_at is not None and (item.budget_at or 0) < head.budget_at
    return reopened(item, since) if is_asked and item.state is RunState.FAILED else None


def stopped(item: Run, now: int, reason: Reason) -> Run | None:
    """Return an item's run as it is when its head must stop; None: unchanged."""
    if item.is_terminal or item.cancel_requested:
        return None
    if item.state is RunState.RUNNING:
        return asked_to_stop(item, reason)
    return ended(item, RunState.CANCELLED, now, Guarantor.SCAN, reason)


def released(head: Run, fan: FanOut, through: int, now: int) -> Run:
    """Return a head whose items are sent up to a number. It continues at once, or soon if the next item still runs."""
    return evolve(
        head, fan=evolve(fan, released=through), due_at=now if through > fan.released else next_evaluation_at(now, now)
    )


def watched(head: Run, fan: FanOut, items: Sequence[Run | None], now: int) -> Run:
    """Return a head that waits for its items, by the states of the next ones; None among them: never released."""
    over = next((index for index, item in enumerate(items) if item and not item.is_terminal), len(items))
    return evolve(
        head, fan=evolve(fan, over=fan.over + over), due_at=now if over else next_evaluation_at(head.created_at, now)
    )


def concluded(head: Run, fan: FanOut, items: Sequence[Run | None], now: int) -> Run:
    """Return a head whose items had all ended, by their present states: one may have been retried meanwhile."""
    live = next((index for index, item in enumerate(items) if item and not item.is_terminal), None)
    if live is not None:
        return evolve(head, fan=evolve(fan, over=live), due_at=next_evaluation_at(head.created_at, now))
    states = {RunState.CANCELLED if item is None else item.state for item in items}
    if head.cancel_requested or (RunState.FAILED not in states and states != {RunState.SUCCEEDED}):
        return ended(head, RunState.CANCELLED, now, Guarantor.SCAN, head.reason or Reason.ITEMS_CANCELLED)
    if RunState.FAILED in states:
        return ended(head, RunState.FAILED, now, Guarantor.SCAN, Reason.ITEMS_FAILED)
    return ended(head, RunState.SUCCEEDED, now, Guarantor.SCAN)


def healed(head: Run, items: Sequence[Run | None], now: int) -> Run | None:
    """Return a failed head as succeeded if all of its items have succeeded by now; None otherwise."""
    is_whole = bool(items) and all(item is not None and item.state is RunState.SUCCEEDED for item in items)
    return mended(head, now) if is_whole else None


def is_answered(run: Run) -> bool:
    """Say whether a run has succeeded by its target's answer."""
    return run.state is RunState.SUCCEEDED and run.last is not None and run.last.outcome is Outcome.SUCCEEDED
