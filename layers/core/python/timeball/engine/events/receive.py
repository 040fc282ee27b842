"""Put events onto the bus, each under its tenant's name, and at one instant however often it is sent.

① Note when the event is first accepted. ② Put it onto the bus at that instant. A repeat makes the same runs, so a
sender whose answer was lost sends the event again.

Turn the bus's matches into runs: one for each job with the pattern, and for each event, however often it comes.

① Insert the run, due. ② Send it. ③ Remove it from the due index. ④ Send the rest of the event's jobs to the queue
again. The event's message is removed last: if a process dies before that, the event comes again, and finds the same
runs.

Runs are made in pages, the tenants in turns. A tenant that is ahead of its pace, or at its quota, gets the rest later.
Its pace counts what was made, so only after ①; its quota counts before ①, because others count there too.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.model.terms.event import BusRule, Event, Matched, name_of_event
from timeball.domain.model.terms.policies import Work
from timeball.domain.planning.ledger import event_row
from timeball.domain.sharing.fairness import (
    Pace,
    comes_again_at,
    in_turns,
    most_made,
    page_of,
    with_made,
    with_no_room,
    with_put_off,
)
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.blackouts.read import read_quotas
from timeball.engine.context import Context
from timeball.engine.events.subscribe import count_lately, retire, subscribers
from timeball.engine.metrics import skipped
from timeball.engine.resolving import resolved
from timeball.engine.runs.due_runs import resend_if_possible
from timeball.engine.runs.send import room_at
from timeball.ports.errors import UnavailableError
from timeball.ports.event_bus import EventBus, EventRefusal


def publish(
    context: Context, bus: EventBus, tenant: str, events: Sequence[Mapping[str, Any]], depth: int = 0
) -> list[tuple[Event, EventRefusal | None]]:
    """Accept a tenant's events, given as attributes, with a generation; return each, and why it was refused, if so.

    Raises UnavailableError before any event is put onto the bus.
    """
    now = context.clock.now()
    names = list(dict.fromkeys(map(name_of_event, events)))
    noted = context.store.events.note([((tenant, name), now) for name in names], now)
    taken = dict(zip(names, noted, strict=True))
    wanted = [Event(tenant, one, taken[name_of_event(one)], depth) for one in events]
    return list(zip(wanted, bus.put(wanted), strict=True))


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Meant:
    """An event, as JSON too, and a job that it runs; `is_held`: a quota of its tenant may have put it off before."""

    job: Job
    event: Event
    payload: str
    is_held: bool


_PORTION_CHARACTERS: Final = 16 * 1024 * 1024
"""A hundred jobs may have one pattern, and ten events of 256 KB come together: each is written for each job."""


def receive(context: Context, bus: EventBus, matched: Sequence[Matched]) -> list[bool]:
    """Make and send the runs of matches, which are done then. Remove rules that no job needs.

    False: the rest of an event could not be put off, so its message must come again. Raises UnavailableError: then the
    caller may repeat all.
    """
    now = context.clock.now()
    quotas = read_quotas(context, list({one.rule.key.tenant for one in matched}))
    paces = {tenant: context.known.paces.get(tenant, Pace()) for tenant in quotas}
    ahead = [position for position, one in enumerate(matched) if paces[one.rule.key.tenant].is_ahead(now)]
    counts = count_lately(context, {matched[position].rule.key for position in ahead}, now)
    later: dict[int, tuple[Matched, int]] = {}
    for position in ahead:
        one = matched[position]
        later[position] = _put_off(one, counts[one.rule.key], quotas, paces, now)
    going = [position for position in range(len(matched)) if position not in later]
    jobs = subscribers(context, {matched[position].rule.key for position in going})
    meant: list[_Meant] = []
    for position in in_turns(going, lambda position: matched[position].rule.key.tenant):
        one = matched[position]
        own_quotas, payload = quotas[one.rule.key.tenant], one.event.payload
        own = sorted((job for job in jobs[one.rule.key] if job.key.job_id > one.after), key=lambda job: job.key.job_id)
        count = _may_be_made(context, one, len(own), own_quotas, paces, now)
        is_held = one.again and most_made(own_quotas) > 0
        meant += [_Meant(job, one.event, payload, is_held) for job in own[:count]]
        if count < len(own):
            rest = evolve(one, after=own[count - 1].key.job_id) if count else one
            later[position] = _put_off(rest, len(own) - count, quotas, paces, now)
    for portion in _portions(meant):
        _make(context, portion, now)
    context.known.paces.update(paces)
    unheard = list(dict.fromkeys(matched[position].rule for position in going if not jobs[matched[position].rule.key]))
    if unheard:
        _retire(context, bus, unheard)
    sent = dict(zip(later, bus.put_off(list(later.values())) if later else [], strict=True))
    return [sent.get(position, True) for position in range(len(matched))]


def _may_be_made(context: Context, one: Matched, amount: int, quotas: Quotas, paces: dict[str, Pace], now: int) -> int:
    """Count runs of an event that may be made now, page by page; return how many."""
    tenant, size, count = one.rule.key.tenant, page_of(most_made(quotas)), 0
    while count < amount and not paces[tenant].is_ahead(now):
        page = min(size, amount - count)
        room = room_at(context, tenant, quotas, page, now)
        if room > now:
            paces[tenant] = with_no_room(paces[tenant], room)
            break
        paces[tenant] = with_made(paces[tenant], page, now)
        count += page
    return count


def _put_off(
    one: Matched, amount: int, quotas: Mapping[str, Quotas], paces: dict[str, Pace], now: int
) -> tuple[Matched, int]:
    """Return what comes again, and in how many seconds. An event that has begun goes on before those that have not."""
    tenant = one.rule.key.tenant
    at = max(paces[tenant].made_until, now)
    if not one.after:
        at = comes_again_at(paces[tenant], now)
        paces[tenant] = with_put_off(paces[tenant], amount, most_made(quotas[tenant]), at)
    return evolve(one, again=True), -(-(at - now) // SECOND_MS)


def _portions(meant: Sequence[_Meant]) -> Iterator[list[_Meant]]:
    """Yield each event for each job once, in portions that fit in a function's memory."""
    portion: list[_Meant] = []
    characters = 0
    for one in {one.event.run_of(one.job.key): one for one in meant}.values():
        if portion and characters + len(one.payload) > _PORTION_CHARACTERS:
            yield portion
            portion, characters = [], 0
        portion.append(one)
        characters += len(one.payload)
    if portion:
        yield portion


def _make(context: Context, meant: Sequence[_Meant], now: int) -> None:
    """Insert the row of each event for each job, and send the rows that are runs."""
    works = [(one.job.key, evolve(one.job.spec.work or Work(), payload=one.payload)) for one in meant]
    digests = context.store.works.save(works, now)
    seen = resolved(context, [one.job for one in meant])
    pairs = zip(seen, meant, digests, strict=True)
    rows = [event_row(job, one.event, digest, now, put_off=one.is_held) for job, one, digest in pairs]
    inserted = context.store.runs.insert(rows, now)
    new = [row for row, standing in zip(rows, inserted, strict=True) if standing is None]
    for row in new:
        skipped(context, row, 1)
    resend_if_possible(context, [row for row in new if not row.is_terminal])


def _retire(context: Context, bus: EventBus, rules: Sequence[BusRule]) -> None:
    """Remove rules that no job needs. If that fails, it is done another time."""
    try:
        retire(context, bus, rules)
    except UnavailableError as unavailable:
        log.warning("a rule that no job needs is left: %s", unavailable)
