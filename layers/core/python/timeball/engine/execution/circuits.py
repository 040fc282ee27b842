"""Ask before a call whether its host's circuit lets it through, and note afterwards how the host answered.

All of it is advice: a row that cannot be read or written never keeps a run from its call, nor an answer from the store.
A host that does not fail has no row, and costs one read for each batch.
"""

import logging
from collections.abc import Sequence

from timeball.domain.attempts.circuit_breaker import Admission, Host, HostKey, admit, after_answers
from timeball.domain.model.ids import RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context
from timeball.ports.target import Answer

log = logging.getLogger(__name__)


def pass_hosts(context: Context, starting: Sequence[tuple[Run, Job]], now: int) -> dict[RunId, Admission]:
    """Say of each run whose host has failed lately whether that lets it call; those that need tokens take them.

    Nothing else keeps the runs from their calls.
    """
    by_host: dict[HostKey, list[Run]] = {}
    for run, job in starting:
        if (key := _key(job)) is not None:
            by_host.setdefault(key, []).append(run)
    try:
        hosts = context.store.hosts.read(list(by_host))
    except Exception:
        log.exception("hosts not asked for")
        return {}
    failing = [(host, by_host[host.key]) for host in hosts if host is not None]
    admissions = [zip(runs, _admit(context, host, runs, now), strict=True) for host, runs in failing]
    return {run.id: admission for of_host in admissions for run, admission in of_host}


def note_answers(context: Context, answered: Sequence[tuple[Job, Answer, bool]], now: int) -> None:
    """Note what answers tell of their hosts; `True` where the host was watched already, so that a success counts."""
    told: dict[HostKey, list[bool]] = {}
    for job, answer, is_watched in answered:
        key = _key(job)
        if key is not None and answer.is_down is not None and (answer.is_down or is_watched):
            told.setdefault(key, []).append(answer.is_down)
    for key, failed_each in told.items():
        try:
            _note(context, key, failed_each, now)
        except Exception:
            log.exception("answers of a host not noted")


def _key(job: Job) -> HostKey | None:
    host = None if job.spec.work is None else job.spec.work.target.resource
    return None if host is None else HostKey(job.key.tenant, host)


def _admit(context: Context, host: Host, runs: Sequence[Run], now: int) -> list[Admission]:
    """Admit the runs of one host in their order: one write for all of them, if any.

    Of a row that cannot be written, or that others change again and again, what was read last holds, unwritten: a call
    or two more than there should be are better than one that never comes.
    """
    admissions: list[Admission] = []

    def in_order(_: int, standing: Host) -> Host | None:
        after = standing
        admissions.clear()
        for run in runs:
            after, admission = admit(after, run, now, context.rules.hosts)
            admissions.append(admission)
        return None if after == standing else after

    try:
        compare_and_swap(context.store.hosts.swap, [host], in_order, now)
    except Exception:
        log.exception("tokens not taken")
    return admissions


def _note(context: Context, key: HostKey, failed_each: Sequence[bool], now: int) -> None:
    def after(_: int, host: Host) -> Host | None:
        told = after_answers(host, failed_each, now, context.rules.hosts)
        return None if told == host else told

    (standing,) = context.store.hosts.read([key])
    if standing is None and any(failed_each):
        (standing,) = context.store.hosts.insert([after_answers(Host(key), failed_each, now, context.rules.hosts)], now)
    (swapped,) = compare_and_swap(context.store.hosts.swap, [standing], after, now)
    if standing is not None and swapped.row is not None and swapped.row.openings > standing.openings:
        log.warning("circuit opened", extra={"tenant": key.tenant, "host": key.host, "failures": swapped.row.failures})
