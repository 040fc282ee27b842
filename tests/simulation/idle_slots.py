"""Free slots and unused rate tokens of limiters for which a run waits: checked each second after the storm."""

from collections import defaultdict
from dataclasses import dataclass, field

from tests.simulation.story import Story
from timeball.domain.model.ids import LimiterKey
from timeball.domain.model.runs.run import Permit, Run, RunState, Waiting
from timeball.domain.time.instants import SECOND_MS

LONGEST_MS = 150 * SECOND_MS
"""How long a slot may stay free, or a token unused: the message of an admitted run may be lost.

A slot is reserved for that run for two leases.
"""


@dataclass
class IdleSlots:
    """Since when each limiter has had a free slot and a waiting run; `found` has those for which that is too long."""

    since: dict[LimiterKey, int] = field(default_factory=dict)
    found: dict[LimiterKey, str] = field(default_factory=dict)

    def look(self, story: Story) -> None:
        """Note which limiters have a free slot and a waiting run at this instant."""
        now, lines = story.clock.now(), _lines(story, Permit.SLOT)
        idle = {key: line for key, line in lines.items() if _has_free_slot(story, key)}
        self.since = {key: self.since.get(key, now) for key in idle}
        for key, since_at in self.since.items():
            if now - since_at > LONGEST_MS:
                self.found[key] = f"{key} has had a free slot for {now - since_at} ms: {idle[key][0]} waits for one"


@dataclass
class IdleTurns:
    """The next token of each limiter for which runs wait, and since when it is the next; `found` has the late ones."""

    next: dict[LimiterKey, tuple[float, int]] = field(default_factory=dict)
    found: dict[LimiterKey, str] = field(default_factory=dict)

    def look(self, story: Story) -> None:
        """Note the next token of each limiter with runs that wait for one at this instant."""
        now, lines, before = story.clock.now(), _lines(story, Permit.TOKEN), self.next
        free = {key: row.tokens.free_at for key in lines if (row := story.store.limiters.get(key)) is not None}
        standing = {key: before.get(key, (free_at, now)) for key, free_at in free.items()}
        self.next = {key: one if one[0] == free[key] else (free[key], now) for key, one in standing.items()}
        for key, (_, since_at) in self.next.items():
            if now - since_at > LONGEST_MS:
                self.found[key] = f"{key} has given no turn for {now - since_at} ms: {lines[key][0]} waits for one"


def _lines(story: Story, permit: Permit) -> dict[LimiterKey, list[Run]]:
    """Return the runs that wait in the lines of limiters for slots, or for tokens."""
    lines = defaultdict[LimiterKey, list[Run]](list)
    for run in story.store.past.live.values():
        if run.waiting is not None and run.waiting.permit is permit and run.stands_in_line:
            lines[LimiterKey(run.id.job.tenant, run.waiting.name)].append(run)
    return lines


def _has_free_slot(story: Story, key: LimiterKey) -> bool:
    limiter = story.store.limiters.get(key)
    slots = None if limiter is None else limiter.bounds.slots
    holders = sum(_holds_slot(key, run) for run in story.store.past.live.values())
    return slots is None or holders < slots


def _holds_slot(key: LimiterKey, run: Run) -> bool:
    """Return whether a run is under way with a slot, or waits with it in the line of another limiter."""
    if run.id.job.tenant != key.tenant or key.name not in run.slots:
        return False
    waits_elsewhere = run.waiting is not None and run.waiting != Waiting(key.name, Permit.SLOT)
    return run.state is RunState.RUNNING or waits_elsewhere
