"""Put events onto the bus, and turn the bus's matches into runs: one for each job with the pattern, and each event.

For a job that also has a schedule, the event waits for the next fire instead (waiting.py).

The note of an event fixes its instant, so a sender whose answer was lost sends it again, and a repeat makes the same
runs. The event's message is removed last: if a process dies before that, the event comes again, and finds the same
runs.

Runs are made in pages, the tenants in turns. A tenant that is ahead of its pace, or at its quota, gets the rest later.
Its pace counts what was made, so only after the insert; its quota counts before it, because others count there too.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from timeball.domain.dependencies.named_cycle import begun_by_event
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.model.terms.event import BusRule, Event, Matched, name_of_event
from timeball.domain.model.terms.policies import Work
from timeball.domain.planning.ledger import event_row
from timeball.domain.planning.waiting_events import waiting_event
from timeball.domain.sharing.fairness import (
    Pace,
    comes_again_at,
    in_turns,
    most_made,
    next_page,
    page_of,
    with_made,
    with_no_room,
    with_put_off,
)
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.blackouts.read import read_quotas
from timeball.engine.context import Context
from timeball.engine.dependencies.named_cycles import read_descendants
from timeball.engine.events.subscribe import count_lately, retire, subscribers
from timeball.engine.metrics import skipped
from timeball.engine.resolving import resolved_for_runs
from timeball.engine.runs.due_runs import resend_if_possible
from timeball.engine.runs.send import room_at
from timeball.ports.errors import UnavailableError
from timeball.ports.event_bus import EventBus, EventRefusal

log = logging.getLogger(__name__)

_PORTION_CHARACTERS: Final = 16 * 1024 * 1024
"""A hundred jobs may have one pattern, and ten events of 256 KB come together: each is written for each job."""


def publish(
    context: Context, bus: EventBus, tenant: str, events: Sequence[Mapping[str, Any]], depth: int = 0
) -> list[tuple[Event, EventRefusal | None]]:
    """Accept a tenant's events, given as attributes, with a depth; return each, and why it was refused, if so.

    Raises UnavailableError before any event is put onto the bus.

    Order of writes of publish (events):

    0. Refuse more events at once than may make 100,000 runs of the jobs that listen.
    1. Note when each event was first accepted.
    2. Put it onto the bus, at that instant.

    Safe: a repeat makes the same runs, for their identity is (job, instant, event).
    """
    now = context.clock.now()
    names = list(dict.fromkeys(map(name_of_event, events)))
    noted = context.store.events.note([((tenant, name), now) for name in names], now)
    taken = dict(zip(names, noted, strict=True))
    wanted = [Event(tenant, one, taken[name_of_event(one)], depth) for one in events]
    return list(zip(wanted, bus.put(wanted), strict=True))


@dataclass(frozen=True)
class _Meant:
    """An event, as JSON too, and a job that it runs; `is_held`: a quota of its tenant may have put it off before."""

    job: Job
    event: Event
    payload: str
    is_held: bool


def receive(context: Context, bus: EventBus, matched: Sequence[Matched]) -> list[bool]:
    """Make and send the runs of matches, which are done then. Remove rules that no job needs.

    False: the rest of an event could not be put off, so its message must come again. Raises UnavailableError: then the
    caller may repeat all.

    Order of writes of receive (the events that the bus matched):

    1. Insert the runs of a page of the jobs with the pattern, in the order of their ids, with a due key; of a job that
       also has a schedule, insert the event instead: it waits for the job's next fire.
    2. Send.
    3. Drop the key; then the next page.
    4. If the tenant is ahead of its pace, or at its quota: send the event again with the job to continue after, delayed
       until after the events that were put off before.
    5. Delete the message of the event.

    Safe: as for a trigger; the message comes again until step 5, and finds the same rows; so does a message that step 4
    sends twice.
    """
    now = context.clock.now()
    quotas = read_quotas(context, list({one.rule.key.tenant for one in matched}))
    pacing = _Pacing(context, now, quotas, {tenant: context.known.paces.get(tenant, Pace()) for tenant in quotas})
    pacing.put_off_ahead(matched)
    going = {position: one for position, one in enumerate(matched) if position not in pacing.later}
    jobs = subscribers(context, {one.rule.key for one in going.values()})
    meant: list[_Meant] = []
    for position in in_turns(going, lambda position: matched[position].rule.key.tenant):
        meant += pacing.share(position, going[position], jobs[going[position].rule.key])
    for portion in _portions(meant):
        _make(context, portion, now)
    context.known.paces.update(pacing.paces)
    _retire(context, bus, [one.rule for one in going.values() if not jobs[one.rule.key]])
    sent = dict(zip(pacing.later, bus.put_off(list(pacing.later.values())), strict=True))
    return [sent.get(position, True) for position in range(len(matched))]


@dataclass(frozen=True)
class _Pacing:
    """Decides how many runs the events of tenants may make now, and when the rest come again."""

    context: Context
    now: int
    quotas: Mapping[str, Quotas]
    paces: dict[str, Pace]
    """The pace of each tenant, with the runs that this decides about."""
    later: dict[int, tuple[Matched, int]] = field(default_factory=dict)
    """By the position of an event: its rest, and in how many seconds that comes again."""
    sizes: dict[JobKey, int] = field(default_factory=dict)
    """How many runs an event makes of a job and of those that depend on it, counted once for all events."""

    def put_off_ahead(self, matched: Sequence[Matched]) -> None:
        """Put off the events of tenants that are ahead of their pace."""
        ahead = {at: one for at, one in enumerate(matched) if self.paces[one.rule.key.tenant].is_ahead(self.now)}
        counts = count_lately(self.context, {one.rule.key for one in ahead.values()}, self.now)
        for at, one in ahead.items():
            self._put_off(at, one, counts[one.rule.key])

    def share(self, position: int, one: Matched, jobs: Sequence[Job]) -> list[_Meant]:
        """Return the runs that an event may make now, in the order of its jobs' ids; put off the rest."""
        own = sorted((job for job in jobs if job.key.job_id > one.after), key=lambda job: job.key.job_id)
        sizes = [self._size_of(job) for job in own]
        count = self._may_be_made(one, sizes)
        payload, is_held = one.event.payload, one.again and most_made(self.quotas[one.rule.key.tenant]) > 0
        if count < len(own):
            rest = evolve(one, after=own[count - 1].key.job_id) if count else one
            self._put_off(position, rest, sum(sizes[count:]))
        return [_Meant(job, one.event, payload, is_held) for job in own[:count]]

    def _size_of(self, job: Job) -> int:
        if job.key not in self.sizes:
            self.sizes[job.key] = _size_of(self.context, job)
        return self.sizes[job.key]

    def _may_be_made(self, one: Matched, sizes: Sequence[int]) -> int:
        """Count runs of an event that may be made now, page by page; return of how many jobs.

        `sizes` are the rows that the run of each job needs, with its cycle.
        """
        tenant, count = one.rule.key.tenant, 0
        most = page_of(most_made(self.quotas[tenant]))
        while count < len(sizes) and not self.paces[tenant].is_ahead(self.now):
            page, amount = next_page(sizes[count:], most)
            asked = min(amount, most)  # otherwise no minute would ever have room for a larger cycle
            room = room_at(self.context, tenant, self.quotas[tenant], asked, self.now)
            if room > self.now:
                self.paces[tenant] = with_no_room(self.paces[tenant], room)
                break
            self.paces[tenant] = with_made(self.paces[tenant], amount, self.now)
            count += page
        return count

    def _put_off(self, position: int, one: Matched, amount: int) -> None:
        """Let an event come again, with so many runs. An event that has begun precedes those that have not."""
        tenant = one.rule.key.tenant
        at = max(self.paces[tenant].made_until, self.now)
        if not one.after:
            at = comes_again_at(self.paces[tenant], self.now)
            self.paces[tenant] = with_put_off(self.paces[tenant], amount, most_made(self.quotas[tenant]), at)
        self.later[position] = evolve(one, again=True), -(-(at - self.now) // SECOND_MS)


def _size_of(context: Context, job: Job) -> int:
    """Return how many runs an event makes of a job and of those that depend on it. Without these it reads nothing."""
    makes_cycle = job.has_children and not job.spec.needs_events
    return 1 + len(read_descendants(context, job)[0]) if makes_cycle else 1


def _portions(meant: Sequence[_Meant]) -> Iterator[list[_Meant]]:
    """Yield each event for each job once, in portions that fit in a function's memory."""
    portion: list[_Meant] = []
    characters = 0
    for one in {one.event.run_of(one.job.key, one.job.generation): one for one in meant}.values():
        if portion and characters + len(one.payload) > _PORTION_CHARACTERS:
            yield portion
            portion, characters = [], 0
        portion.append(one)
        characters += len(one.payload)
    if portion:
        yield portion


def _make(context: Context, meant: Sequence[_Meant], now: int) -> None:
    """Insert the row of each event for each job, and send the rows that are runs. Some events wait for fires."""
    works = [(one.job.key, evolve(one.job.spec.work or Work(), payload=one.payload)) for one in meant]
    digests = context.store.works.save(works, now)
    at_once = _without_waiting(context, list(zip(meant, digests, strict=True)), now)
    seen = resolved_for_runs(context, [one.job for one, _ in at_once])
    rows = [
        begun_by_event(event_row(job, one.event, digest, now, put_off=one.is_held), job)
        for job, (one, digest) in zip(seen, at_once, strict=True)
    ]
    inserted = context.store.runs.insert(rows, now)
    new = [row for row, standing in zip(rows, inserted, strict=True) if standing is None]
    for row in new:
        skipped(context, row, 1)
    resend_if_possible(context, [row for row in new if not row.is_terminal])


def _without_waiting(context: Context, named: Sequence[tuple[_Meant, str]], now: int) -> list[tuple[_Meant, str]]:
    """Let events wait for the fires of jobs that need them; return the other events, which make runs at once."""
    waiting = [waiting_event(one.job, one.event, digest) for one, digest in named]
    context.store.waiting_events.insert([one for one in waiting if one is not None], now)
    return [pair for pair, waits in zip(named, waiting, strict=True) if waits is None]


def _retire(context: Context, bus: EventBus, rules: Sequence[BusRule]) -> None:
    """Remove rules that no job needs. If that fails, it is done another time."""
    if not rules:
        return
    try:
        retire(context, bus, list(dict.fromkeys(rules)))
    except UnavailableError as unavailable:
        log.warning("a rule that no job needs is left: %s", unavailable)
