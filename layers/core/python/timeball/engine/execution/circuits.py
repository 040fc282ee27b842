"""Ask the circuits of a resource before a call, and record afterwards how the resource answered.

All of it is advice: a row that cannot be read or written never keeps a run from its call, nor an answer from the store.
A resource that does not fail has no row, and costs one read for each batch. The segments of its paths are in the same
row.
"""

import logging
from collections.abc import Sequence

from timeball.domain.attempts.circuit_breaker import Admission, Circuit, CircuitKey, Observation, after_answers, check
from timeball.domain.attempts.claim import Decision, after_circuit
from timeball.domain.model.ids import RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.target import segment_of
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context
from timeball.engine.metrics import circuit_opened
from timeball.ports.target import Answer

log = logging.getLogger(__name__)


def check_circuits(context: Context, starting: Sequence[tuple[Run, Job]], now: int) -> list[Decision | None]:
    """Decide about each run whose resource has failed lately: it may call, or waits. Runs that need tokens take them.

    A run that waits keeps its job's overlap lock.
    """
    by_circuit: dict[CircuitKey, list[tuple[Run, Job]]] = {}
    for run, job in starting:
        if (key := _key(job)) is not None:
            by_circuit.setdefault(key, []).append((run, job))
    try:
        circuits = context.store.circuits.read(list(by_circuit))
    except Exception:
        log.exception("circuits not read")
        return [None] * len(starting)
    decisions: dict[RunId, Decision] = {}
    for circuit in circuits:
        if circuit is not None:
            runs = by_circuit[circuit.key]
            admissions = _check(context, circuit, runs, now)
            decisions |= {
                run.id: after_circuit(run, job, now, one) for (run, job), one in zip(runs, admissions, strict=True)
            }
    return [decisions.get(run.id) for run, _ in starting]


def note_answers(context: Context, answered: Sequence[tuple[Job, Answer, bool]], now: int) -> None:
    """Record what answers say of their resources; `True`: the resource has a row already, so a success counts."""
    by_circuit: dict[CircuitKey, list[Observation]] = {}
    for job, answer, is_watched in answered:
        key = _key(job)
        if key is not None and answer.is_down is not None and (answer.is_down or is_watched):
            by_circuit.setdefault(key, []).append(_observed(job, answer))
    for key, observed in by_circuit.items():
        try:
            _note(context, key, observed, now)
        except Exception:
            log.exception("answers not recorded")


def _key(job: Job) -> CircuitKey | None:
    resource = None if job.spec.work is None else job.spec.work.target.resource
    return None if resource is None else CircuitKey(job.key.tenant, resource)


def _segment(job: Job) -> str | None:
    return None if job.spec.work is None else segment_of(job.spec.work.target)


def _observed(job: Job, answer: Answer) -> Observation:
    """Return what an answer says of its resource. A call that made no connection concerns all of its paths."""
    is_of_resource = answer.is_down and answer.called_at is None
    return Observation(bool(answer.is_down), None if is_of_resource else _segment(job))


def _check(context: Context, circuit: Circuit, runs: Sequence[tuple[Run, Job]], now: int) -> list[Admission]:
    """Decide about the runs of one resource in their order: one write for all of them, if any.

    If the row cannot be written, or keeps changing, the decision stands unwritten: a call or two too many are better
    than one that never comes.
    """
    admissions: list[Admission] = []

    def in_order(_: int, standing: Circuit) -> Circuit | None:
        after = standing
        admissions.clear()
        for run, job in runs:
            after, admission = check(after, run, now, context.rules.circuits, _segment(job))
            admissions.append(admission)
        return None if after == standing else after

    try:
        compare_and_swap(context.store.circuits.swap, [circuit], in_order, now)
    except Exception:
        log.exception("tokens not taken")
    return admissions


def _note(context: Context, key: CircuitKey, observed: Sequence[Observation], now: int) -> None:
    def after(_: int, circuit: Circuit) -> Circuit | None:
        answered = after_answers(circuit, observed, now, context.rules.circuits)
        return None if answered == circuit else answered

    (standing,) = context.store.circuits.read([key])
    if standing is None and any(one.is_down for one in observed):
        fresh = after_answers(Circuit(key), observed, now, context.rules.circuits)
        (standing,) = context.store.circuits.insert([fresh], now)
        if standing is None:
            _record_opening(context, Circuit(key), fresh)
    (swapped,) = compare_and_swap(context.store.circuits.swap, [standing], after, now)
    if standing is not None and swapped.row is not None:
        _record_opening(context, standing, swapped.row)


def _record_opening(context: Context, before: Circuit, row: Circuit) -> None:
    if _openings(row) > _openings(before):
        extra = {"tenant": row.key.tenant, "host": row.key.resource, "failures": row.failures}
        log.warning("circuit opened", extra=extra)
        circuit_opened(context)


def _openings(circuit: Circuit) -> int:
    return circuit.openings + sum(one.openings for one in circuit.segments)
