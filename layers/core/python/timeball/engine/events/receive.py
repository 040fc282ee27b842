"""What the bus has matched becomes runs: one for each job with the pattern, and for each event, however often it comes.

① The run is inserted, due ② it is sent ③ it leaves the due index. The message of the event goes last: who dies before
that does it again, and finds the same runs.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.event import BusRule, Event
from timeball.domain.model.terms.work import Work
from timeball.domain.planning.events import event_row
from timeball.engine.context import Context
from timeball.engine.events.subscribe import retire, subscribers
from timeball.engine.metrics import skipped
from timeball.engine.runs.due_runs import resend
from timeball.engine.tasks.resolving import resolved
from timeball.ports.errors import UnavailableError
from timeball.ports.event_bus import EventBus

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Matched:
    """An event, and the rule that matched it."""

    rule: BusRule
    event: Event


@dataclass(frozen=True)
class _Meant:
    """An event, as JSON too, and a job that it is to run."""

    job: Job
    event: Event
    payload: str


_PORTION_CHARACTERS: Final = 16 * 1024 * 1024
"""A hundred jobs may have one pattern, and ten events of 256 KB come together: each is written for each job."""


def receive(context: Context, bus: EventBus, matched: Sequence[Matched]) -> list[bool]:
    """Make and send the runs of what was matched; each is dealt with then. A rule that no job needs is removed.

    Raises UnavailableError: then all may be repeated.
    """
    now = context.clock.now()
    jobs = subscribers(context, {one.rule.key for one in matched})
    payloads = [one.event.payload for one in matched]
    pairs = zip(matched, payloads, strict=True)
    meant = [_Meant(job, one.event, payload) for one, payload in pairs for job in jobs[one.rule.key]]
    for portion in _portions(meant):
        _make(context, portion, now)
    unheard = list(dict.fromkeys(one.rule for one in matched if not jobs[one.rule.key]))
    if unheard:
        _retire(context, bus, unheard)
    return [True] * len(matched)


def _portions(meant: Sequence[_Meant]) -> Iterator[list[_Meant]]:
    """Yield each event for each job, once; together no more than a function has memory for."""
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
    """Insert the row of each event for each job, and send those that are runs."""
    works = [(one.job.key, evolve(one.job.spec.work or Work(), payload=one.payload)) for one in meant]
    digests = context.store.works.save(works, now)
    seen = resolved(context, [one.job for one in meant])
    rows = [event_row(job, one.event, digest, now) for job, one, digest in zip(seen, meant, digests, strict=True)]
    inserted = context.store.runs.insert(rows, now)
    new = [row for row, standing in zip(rows, inserted, strict=True) if standing is None]
    for row in new:
        skipped(context, row, 1)
    _send(context, [row for row in new if not row.is_terminal])


def _send(context: Context, runs: Sequence[Run]) -> None:
    """Send runs; the scan does it if that fails, for they are due."""
    try:
        resend(context, runs)
    except UnavailableError as unavailable:
        log.warning("runs on events are left to the scan: %s", unavailable)


def _retire(context: Context, bus: EventBus, rules: Sequence[BusRule]) -> None:
    """Remove rules that nobody needs; it may as well be done another time."""
    try:
        retire(context, bus, rules)
    except UnavailableError as unavailable:
        log.warning("a rule that nobody needs is left: %s", unavailable)
