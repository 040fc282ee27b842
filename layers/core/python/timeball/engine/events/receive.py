"""Turn the bus's matches into runs: one for each job with the pattern, and for each event, however often it comes.

① Insert the run, due. ② Send it. ③ Remove it from the due index. ④ Send the rest of the event's jobs to the queue
again. The event's message is removed last: if a process dies before that, the event comes again, and finds the same
runs.

Runs are made in pages, the tenants in turns. A tenant that is ahead of its pace, or at its quota, gets the rest later.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run
from timeball.domain.model.tenants.quotas import Quotas
from timeball.domain.model.terms.event import BusRule, Event, Matched, SubscriptionKey
from timeball.domain.model.terms.work import Work
from timeball.domain.planning.events import event_row
from timeball.domain.sharing.fairness import in_turns
from timeball.domain.sharing.making import PAGE, Pace, most_made, page_of, with_made, with_put_off
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.context import Context
from timeball.engine.events.subscribe import retire, subscribers
from timeball.engine.exclusions.read import read_quotas
from timeball.engine.metrics import skipped
from timeball.engine.runs.due_runs import resend
from timeball.engine.runs.making import room_at
from timeball.engine.tasks.resolving import resolved
from timeball.ports.errors import UnavailableError
from timeball.ports.event_bus import EventBus

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Meant:
    """An event, as JSON too, and a job that it is to run; `again`: it was put off before."""

    job: Job
    event: Event
    payload: str
    again: bool


_PORTION_CHARACTERS: Final = 16 * 1024 * 1024
"""A hundred jobs may have one pattern, and ten events of 256 KB come together: each is written for each job."""


def receive(context: Context, bus: EventBus, matched: Sequence[Matched]) -> list[bool]:
    """Make and send the runs of matches, which are done then. Remove rules that no job needs.

    False: the rest of an event could not be put off, so its message must come again. Raises UnavailableError: then the
    caller may repeat all.
    """
    now = context.clock.now()
    quotas = read_quotas(context, list({one.rule.key.tenant for one in matched}))
    ahead = [position for position, one in enumerate(matched) if _pace(context, one).is_ahead(now)]
    later = {position: _put_off(context, matched[position], PAGE, quotas, now) for position in ahead}
    going = [position for position in range(len(matched)) if position not in later]
    jobs = subscribers(context, {matched[position].rule.key for position in going})
    meant: list[_Meant] = []
    for position in in_turns(going, lambda position: matched[position].rule.key.tenant):
        one = matched[position]
        left = _taken(context, one, jobs, quotas[one.rule.key.tenant], meant, now)
        if left is not None:
            rest = [job for job in jobs[one.rule.key] if job.key.job_id > left[0]]
            later[position] = _put_off(context, evolve(one, after=left[0]), len(rest), quotas, now, left[1])
    for portion in _portions(meant):
        _make(context, portion, now)
    unheard = list(dict.fromkeys(matched[position].rule for position in going if not jobs[matched[position].rule.key]))
    if unheard:
        _retire(context, bus, unheard)
    sent = dict(zip(later, bus.put_off(list(later.values())) if later else [], strict=True))
    return [sent.get(position, True) for position in range(len(matched))]


def _taken(
    context: Context,
    one: Matched,
    jobs: Mapping[SubscriptionKey, Sequence[Job]],
    quotas: Quotas,
    meant: list[_Meant],
    now: int,
) -> tuple[str, int] | None:
    """Add the runs that may be made now; return after which job others are left, and from when on, if any are."""
    size, payload = page_of(most_made(quotas)), one.event.payload
    own = sorted((job for job in jobs[one.rule.key] if job.key.job_id > one.after), key=lambda job: job.key.job_id)
    after = one.after
    for start in range(0, len(own), size):
        page, pace = own[start : start + size], _pace(context, one)
        if pace.is_ahead(now):
            return after, now
        room = room_at(context, one.rule.key.tenant, quotas, len(page), now)
        if room > now:
            return after, room
        context.known.paces[one.rule.key.tenant] = with_made(pace, len(page), now)
        meant += [_Meant(job, one.event, payload, one.again) for job in page]
        after = page[-1].key.job_id
    return None


def _pace(context: Context, one: Matched) -> Pace:
    return context.known.paces.get(one.rule.key.tenant, Pace())


def _put_off(
    context: Context, one: Matched, amount: int, quotas: Mapping[str, Quotas], now: int, from_at: int = 0
) -> tuple[Matched, int]:
    """Return what is to come again, and in how many seconds: after all of its tenant that this process has put off."""
    tenant = one.rule.key.tenant
    pace = _pace(context, one)
    at = max(pace.put_off_until, pace.made_until, from_at)
    pace = with_put_off(evolve(pace, put_off_until=at), amount, most_made(quotas[tenant]), now)
    context.known.paces[tenant] = pace
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
    rows = [event_row(job, one.event, digest, now, put_off=one.again) for job, one, digest in pairs]
    inserted = context.store.runs.insert(rows, now)
    new = [row for row, standing in zip(rows, inserted, strict=True) if standing is None]
    for row in new:
        skipped(context, row, 1)
    _send(context, [row for row in new if not row.is_terminal])


def _send(context: Context, runs: Sequence[Run]) -> None:
    """Send runs. If that fails, the scan does it, because they are due."""
    try:
        resend(context, runs)
    except UnavailableError as unavailable:
        log.warning("runs on events are left to the scan: %s", unavailable)


def _retire(context: Context, bus: EventBus, rules: Sequence[BusRule]) -> None:
    """Remove rules that no job needs. If that fails, it is done another time."""
    try:
        retire(context, bus, rules)
    except UnavailableError as unavailable:
        log.warning("a rule that no job needs is left: %s", unavailable)
