"""The overlap lock of a job: the run that holds it may start; at most one other is next in line.

The lock is a pair on the job's row, and each move of it one conditional write. It is acquired before the claim of its
run and released after that run's end. The message of the run that is next in line is sent before the lock is handed
over: whoever crashes in between leaves a message whose claim takes the lock.
"""

from collections.abc import Mapping, Sequence

from timeball.domain.model.guarantor import Guarantor
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.job import Job, locked
from timeball.domain.model.policies import OverlapPolicy
from timeball.domain.model.reason import Reason
from timeball.domain.model.run import Run, RunState
from timeball.domain.model.transitions import asked_to_stop, ended
from timeball.domain.policy.effects import is_final
from timeball.domain.policy.overlap import Overlap, Step, decide_overlap
from timeball.engine.compare_and_swap import TRIES
from timeball.engine.context import Context
from timeball.engine.metrics import skipped
from timeball.engine.runs.send import send
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap

LOCKED = frozenset({Origin.SCHEDULE, Origin.MANUAL, Origin.DEPENDENCY, Origin.EVENT})
"""The origins whose runs need their job's lock; a backfill has an overlap policy of its own."""


def needs_lock(run: Run, job: Job) -> bool:
    """Say whether a run may start only while it holds its job's lock."""
    return job.spec.overlap is not OverlapPolicy.ALLOW and run.id.origin in LOCKED


def admit(context: Context, wanting: Sequence[tuple[Run, Job]], now: int) -> list[Step]:
    """Ask for the lock of each run's job; of several runs of one job the earliest fire asks first.

    Returns START (it holds the lock), SKIP, STAY (it is next in line), or WAIT, also where a job keeps changing.
    Raises UnavailableError.
    """
    answers: dict[int, Step] = {}
    jobs = {job.key: job for _, job in wanting}
    order = sorted(range(len(wanting)), key=lambda position: wanting[position][0].id)
    for _ in range(TRIES * max(len(wanting), 1)):
        turn: dict[JobKey, int] = {}
        for position in order:
            if position not in answers:
                turn.setdefault(wanting[position][1].key, position)
        if not turn:
            break
        _admit_one_each(context, wanting, turn, jobs, answers, now)
    return [answers.get(position, Step.WAIT) for position in range(len(wanting))]


def _admit_one_each(
    context: Context,
    wanting: Sequence[tuple[Run, Job]],
    turn: Mapping[JobKey, int],
    jobs: dict[JobKey, Job],
    answers: dict[int, Step],
    now: int,
) -> None:
    rows = _rows_of(context, [jobs[key] for key in turn])
    moves: list[tuple[int, Overlap, Swap[Job]]] = []
    for key, position in turn.items():
        run, job = wanting[position][0], jobs[key]
        holder, parked = _row(rows, job.holder), _row(rows, job.parked)
        overlap = decide_overlap(job.spec.overlap, run, holder, parked)
        if run.not_before > now and (overlap.stop_holder or overlap.step in (Step.SKIP, Step.TAKE_PLACE)):
            answers[position] = Step.WAIT  # at its instant nothing of this may be needed
            continue
        if overlap.stop_holder and holder is not None and not _is_asked_to_stop(context, job, holder, now):
            continue  # it has moved on, or holds nothing any more: decided anew
        if overlap.step is Step.TAKE_PLACE and parked is not None and not _end(context, job, parked, now):
            continue
        after = _after(job, run, overlap.step)
        if after is None:
            answers[position] = overlap.step
        else:
            moves.append((position, overlap, Swap(job, after)))
    for (position, overlap, swap), outcome in zip(
        moves, context.store.jobs.swap([swap for _, _, swap in moves], now), strict=True
    ):
        if outcome.row is None:
            answers[position] = Step.WAIT
            continue
        jobs[swap.before.key] = outcome.row
        if outcome.done:
            answers[position] = Step.START if overlap.step is Step.ACQUIRE else Step.STAY


def _after(job: Job, run: Run, step: Step) -> Job | None:
    """Return the job with its lock moved by a step, or None if the step moves nothing."""
    match step:
        case Step.ACQUIRE:
            return locked(job, run.id, None if job.parked == run.id else job.parked)
        case Step.PARK | Step.TAKE_PLACE:
            return locked(job, job.holder, run.id)
        case _:
            return None


def _is_asked_to_stop(context: Context, job: Job, holder: Run, now: int) -> bool:
    """Ask a running holder to stop, and say whether that is written; end one that only waits, which frees the lock."""
    if holder.state is not RunState.RUNNING:
        _end(context, job, holder, now)
        return False
    return context.store.runs.swap([Swap(holder, asked_to_stop(holder, Reason.REPLACED))], now)[0].done


def _end(context: Context, job: Job, run: Run, now: int) -> bool:
    """End a run that has not started as skipped, one that waits for a retry as cancelled; False if it has moved on.

    Whoever asks for the lock takes it, or the place in line, from that run; the message that it holds guarantees the
    effects. The end of a job is left to the scan.
    """
    state = RunState.SKIPPED if run.state is RunState.QUEUED and run.is_unstarted else RunState.CANCELLED
    guarantor = Guarantor.SCAN if is_final(run, job) else Guarantor.MESSAGE
    after = ended(run, state, now, guarantor, Reason.REPLACED)
    done = context.store.runs.swap([Swap(run, after)], now)[0].done
    if done and state is RunState.SKIPPED:
        skipped(context, run.id.job, Reason.REPLACED, 1, run.id.fire_at)
    return done


def release(context: Context, runs: Sequence[RunId]) -> None:
    """Take the lock from runs that are over; who is next in line gets it, and its message first. May be repeated.

    A holder that a pause took back changes places with who is next in line, if that may go on: it has started before.
    Who has had the lock, or was next in line, stays named there while its job is paused: it never misfires.
    Raises UnavailableError.
    """
    waiting = list(dict.fromkeys(runs))
    for _ in range(TRIES):
        if not waiting:
            return
        jobs = zip(waiting, context.store.jobs.read([run.job for run in waiting]), strict=True)
        naming = [(run, job) for run, job in jobs if job is not None and run in (job.holder, job.parked)]
        now = context.clock.now()
        rows = _rows_of(context, [job for _, job in naming])
        # One that is retried manually meanwhile keeps what it has.
        giving = [(run, job) for run, job in naming if _gives_it_up(job, rows[run], rows)]
        swaps = [Swap(job, _released(context, job, run, rows, now)) for run, job in giving]
        outcomes = context.store.jobs.swap(swaps, now)
        waiting = [run for (run, _), outcome in zip(giving, outcomes, strict=True) if not outcome.done]
    raise UnavailableError("the overlap lock kept changing")


def _gives_it_up(job: Job, run: Run | None, rows: Mapping[RunId, Run | None]) -> bool:
    if run is None or not _is_withdrawn(run):
        return run is None or run.is_terminal
    return job.holder == run.id and _waiting(rows, job.parked) is not None


def _released(context: Context, job: Job, run: RunId, rows: Mapping[RunId, Run | None], now: int) -> Job:
    if job.holder != run:
        return locked(job, job.holder, None)
    parked, before = _waiting(rows, job.parked), _row(rows, run)
    if parked is None:
        # One that a pause took back keeps the lock for when it is let go, and keeps nobody from it until then.
        return locked(job, job.parked if _is_withdrawn(_row(rows, job.parked)) else None, None)
    if not send(context, [parked], now)[0]:
        raise UnavailableError("the message of the run next in line is not sent yet")
    return locked(job, parked.id, run if before is not None and not before.is_terminal else None)


def _waiting(rows: Mapping[RunId, Run | None], name: RunId | None) -> Run | None:
    """Return who is next in line: one that is no longer queued is not."""
    row = _row(rows, name)
    return row if row is not None and row.state is RunState.QUEUED else None


def _is_withdrawn(run: Run | None) -> bool:
    return run is not None and run.state is RunState.WITHDRAWN


def _rows_of(context: Context, jobs: Sequence[Job]) -> dict[RunId, Run | None]:
    """Read the runs that the locks of jobs name."""
    names = [name for job in jobs for name in (job.holder, job.parked) if name is not None]
    return dict(zip(names, context.store.runs.read(names), strict=True))


def _row(rows: Mapping[RunId, Run | None], name: RunId | None) -> Run | None:
    return None if name is None else rows.get(name)
