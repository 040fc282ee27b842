"""Ask before a call whether its host's circuit lets it through, and note afterwards how the host answered.

All of it is advice: a row that cannot be read or written never keeps a run from its call, nor an answer from the store.
A host that does not fail has no row, and costs one read for each batch.
"""

import logging
from collections.abc import Mapping, Sequence

from timeball.domain.model.job import Job
from timeball.domain.model.run import Run
from timeball.domain.policy.circuit_breaker import CALL, Admission, Host, HostKey, admit, after_answers
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context
from timeball.ports.rows import Swap, Swapped
from timeball.ports.target import Answer

log = logging.getLogger(__name__)


Watched = Mapping[HostKey, Host]
"""The rows of those hosts that have one."""


def watched_hosts(context: Context, jobs: Sequence[Job]) -> Watched:
    """Read the rows of the hosts that jobs call; none if they cannot be read."""
    keys = [key for job in jobs if (key := _key(context, job)) is not None]
    distinct = list(dict.fromkeys(keys))
    try:
        rows = context.store.hosts.read(distinct) if distinct else []
    except Exception:
        log.exception("hosts not asked for")
        return {}
    return {key: row for key, row in zip(distinct, rows, strict=True) if row is not None}


def is_watched(context: Context, hosts: Watched, job: Job) -> bool:
    """Say whether a job's host has failed lately."""
    return _key(context, job) in hosts


def pass_hosts(context: Context, hosts: Watched, starting: Sequence[tuple[Run, Job]], now: int) -> list[Admission]:
    """Say of each run that nothing else keeps from its call whether its host does; those that need tokens take them."""
    keys = [_key(context, job) for _, job in starting]
    answers = [CALL] * len(starting)
    for key, host in hosts.items():
        positions = [position for position, one in enumerate(keys) if one == key]
        runs = [starting[position][0] for position in positions]
        for position, admission in zip(positions, _admit(context, host, runs, now), strict=True):
            answers[position] = admission
    return answers


def note_answers(context: Context, answered: Sequence[tuple[Job, Answer, bool]], now: int) -> None:
    """Note what answers tell of their hosts; `True` where the host was watched already, so that a success counts."""
    told: dict[HostKey, list[bool]] = {}
    for job, answer, is_watched in answered:
        key = _key(context, job)
        if key is not None and answer.is_down is not None and (answer.is_down or is_watched):
            told.setdefault(key, []).append(answer.is_down)
    for key, failed_each in told.items():
        try:
            _note(context, key, failed_each, now)
        except Exception:
            log.exception("answers of a host not noted")


def _key(context: Context, job: Job) -> HostKey | None:
    host = None if job.spec.work is None else context.resource_of(job.spec.work)
    return None if host is None else HostKey(job.key.tenant, host)


def _admit(context: Context, host: Host, runs: Sequence[Run], now: int) -> list[Admission]:
    """Admit the runs of one host in their order: one write for all of them, if any.

    Of a row that cannot be written, or that others change again and again, what was read last holds, unwritten: a call
    or two more than there should be are better than one that never comes.
    """
    admissions = [CALL] * len(runs)

    def in_order(_: int, standing: Host) -> Host | None:
        after, admissions[:] = _admit_in_order(context, standing, runs, now)
        return None if after == standing else after

    try:
        (swapped,) = compare_and_swap(context.store.hosts.swap, [host], in_order, now)
        return admissions if swapped.row is not None else [CALL] * len(runs)
    except Exception:
        log.exception("tokens not taken")
        return admissions


def _admit_in_order(context: Context, host: Host, runs: Sequence[Run], now: int) -> tuple[Host, list[Admission]]:
    admissions = []
    for run in runs:
        host, admission = admit(host, run, now, context.rules.hosts)
        admissions.append(admission)
    return host, admissions


def _note(context: Context, key: HostKey, failed_each: Sequence[bool], now: int) -> None:
    def after(_: int, host: Host) -> Host | None:
        told = after_answers(host, failed_each, now, context.rules.hosts)
        return None if told == host else told

    def swap(swaps: Sequence[Swap[Host]], now: int) -> list[Swapped[Host]]:
        (swapped,), (asked,) = context.store.hosts.swap(swaps, now), swaps
        if swapped.done and asked.after.openings > asked.before.openings:
            failures = asked.after.failures
            log.warning("circuit opened", extra={"tenant": key.tenant, "host": key.host, "failures": failures})
        return [swapped]

    (standing,) = context.store.hosts.read([key])
    if standing is None and any(failed_each):
        (standing,) = context.store.hosts.insert([after_answers(Host(key), failed_each, now, context.rules.hosts)], now)
    compare_and_swap(swap, [standing], after, now)
