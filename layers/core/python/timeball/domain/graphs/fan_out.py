"""How a run goes on that has a run for each item: pure functions of its row, of what was named, and of those runs.

Invariant: a list of items is never changed. Its digest names it, and the row of a run names the digest: so whoever
reads that row, at whatever time, sees the same items under the same numbers, from 1.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from timeball.domain.graphs.passing import is_cut, read_json
from timeball.domain.graphs.waiting import next_look
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.attempt import Outcome
from timeball.domain.model.runs.fan_out import MAX_ITEMS, FanOut
from timeball.domain.model.runs.guarantor import Guarantor
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import asked_to_stop, cleared, ended, fanned_out, mended, reopened
from timeball.domain.planning.ledger import queued_run

FIELD = "fanOut"
"""The field of an answer that names items."""
MAX_ITEMS_BYTES = 256 * 1024
"""So large may the items of a run be together."""


_NOBODY: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Named:
    """The items that a run has named, as JSON texts; and by whose requests, with digests of what each asked."""

    items: tuple[str, ...] = ()
    requests: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_too_large(self) -> bool:
        """Whether they are too large to be stored."""
        return sum(len(item) for item in self.items) > MAX_ITEMS_BYTES

    @property
    def is_too_many(self) -> bool:
        """Whether they are more than a run may name."""
        return len(self.items) > MAX_ITEMS

    def with_more(self, items: Iterable[str], requests: Mapping[str, str] = _NOBODY) -> "Named":
        """Return them with others behind."""
        return Named((*self.items, *items), {**self.requests, **requests})

    def to_text(self) -> str:
        """Return the text that is stored."""
        return f'{{"requests":{json.dumps(self.requests)},"items":[{",".join(self.items)}]}}'


def to_named(text: str | None) -> Named:
    """Return the items of a stored text; none, of none."""
    if text is None:
        return Named()
    stored = json.loads(text)
    return Named(tuple(map(item_text, stored["items"])), stored["requests"])


def item_text(item: Any) -> str:  # noqa: ANN401 - any JSON
    """Return an item as it is stored. Raises ValueError for what is no JSON, such as an infinite number."""
    return json.dumps(item, separators=(",", ":"), allow_nan=False)


def answered_items(answer: str | None) -> list[str] | None:
    """Return the items that an answer names, none if it names none; None: what it says of them cannot be used."""
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


def begun(head: Run, fan: FanOut, named: Named | None, digest: str | None, now: int) -> Run:
    """Return a run that was let go as it begins with its items: under way; or over, if they are none, or no use."""
    if named is None or named.is_too_many or named.is_too_large:
        return ended(head, RunState.FAILED, now, Guarantor.SCAN, Reason.BAD_ITEMS)
    if not named.items:
        return ended(head, RunState.SKIPPED, now, Guarantor.SCAN, Reason.NO_ITEMS)
    return fanned_out(head, evolve(fan, items=digest, count=len(named.items)), now)


def waiting_again(head: Run, now: int) -> Run:
    """Return a run that was let go as one that waits: who names its items has been started again meanwhile."""
    return evolve(head, fan=None, waits=True, let_go_at=None, reason=Reason.WAITING_FOR_PARENTS, due_at=now)


def item_id(head: RunId, number: int) -> RunId:
    """Return which run is that of an item."""
    return RunId(head.job, head.fire_at, Origin.DEPENDENCY, str(number))


def head_of(item: RunId) -> RunId | None:
    """Return the run that an item belongs to; None of a run that is none of an item."""
    return RunId(item.job, item.fire_at, Origin.SCHEDULE) if item.origin is Origin.DEPENDENCY else None


def item_run(head: Run, job: Job, number: int, digest: str, now: int) -> Run:
    """Return the run of an item, whose payload has a digest."""
    run = queued_run(job, Origin.DEPENDENCY, head.id.fire_at, max(now, head.budget_at or 0))
    return evolve(run, id=item_id(head.id, number), not_before=head.not_before, work_digest=digest, let_go_at=now)


def is_of_before(item: Run, meant: Run, fan: FanOut) -> bool:
    """Say whether an item has run, or runs, as one of a cycle that is run again since, and not yet as it is meant."""
    if fan.since is None:
        return False
    is_meant = item.work_digest == meant.work_digest or item.payload_edited_at is not None
    return (item.budget_at or item.created_at) < fan.since or not is_meant


def still_to_end(item: Run, meant: Run, fan: FanOut) -> bool:
    """Say whether an item of before is not over, or nobody has seen to what that entails: it cannot run again yet."""
    return is_of_before(item, meant, fan) and (not item.is_terminal or item.due_at is not None)


def tried_again(item: Run, meant: Run, head: Run, fan: FanOut, now: int) -> Run | None:
    """Return an item as it is run again, because its cycle is, or somebody has retried the whole; None: it stays."""
    since = max(now, head.budget_at or 0)
    if is_of_before(item, meant, fan):
        return evolve(cleared(item, since, waits=False), work_digest=meant.work_digest, payload_edited_at=None)
    is_asked = head.budget_at is not None and (item.budget_at or 0) < head.budget_at
    return reopened(item, since) if is_asked and item.state is RunState.FAILED else None


def stopped(item: Run, now: int, reason: Reason) -> Run | None:
    """Return an item as it is when the whole is to stop; None: it stays."""
    if item.is_terminal or item.cancel_requested:
        return None
    if item.state is RunState.RUNNING:
        return asked_to_stop(item, reason)
    return ended(item, RunState.CANCELLED, now, Guarantor.SCAN, reason)


def released(head: Run, fan: FanOut, through: int, now: int) -> Run:
    """Return a run whose items have been sent up to one; it goes on at once, or soon if the next one still runs."""
    return evolve(
        head, fan=evolve(fan, released=through), due_at=now if through > fan.released else next_look(now, now)
    )


def watched(head: Run, fan: FanOut, items: Sequence[Run | None], now: int) -> Run:
    """Return a run that waits for its items, by how the next ones stand; None of them: never released."""
    over = next((place for place, item in enumerate(items) if item and not item.is_terminal), len(items))
    return evolve(head, fan=evolve(fan, over=fan.over + over), due_at=now if over else next_look(head.created_at, now))


def concluded(head: Run, fan: FanOut, items: Sequence[Run | None], now: int) -> Run:
    """Return a run of which all items were over, by how they stand now: one may have been tried again."""
    live = next((place for place, item in enumerate(items) if item and not item.is_terminal), None)
    if live is not None:
        return evolve(head, fan=evolve(fan, over=live), due_at=next_look(head.created_at, now))
    states = {RunState.CANCELLED if item is None else item.state for item in items}
    if head.cancel_requested or (RunState.FAILED not in states and states != {RunState.SUCCEEDED}):
        return ended(head, RunState.CANCELLED, now, Guarantor.SCAN, head.reason or Reason.ITEMS_CANCELLED)
    if RunState.FAILED in states:
        return ended(head, RunState.FAILED, now, Guarantor.SCAN, Reason.ITEMS_FAILED)
    return ended(head, RunState.SUCCEEDED, now, Guarantor.SCAN)


def healed(head: Run, items: Sequence[Run | None], now: int) -> Run | None:
    """Return a dead run as one that has succeeded, if all of its items have by now; None if not."""
    is_whole = bool(items) and all(item is not None and item.state is RunState.SUCCEEDED for item in items)
    return mended(head, now) if is_whole else None


def is_answered(run: Run) -> bool:
    """Say whether a run has succeeded by what its target said."""
    return run.state is RunState.SUCCEEDED and run.last is not None and run.last.outcome is Outcome.SUCCEEDED
