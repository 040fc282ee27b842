"""A run in flight: it waits in its executor for its instant, is called, answered, finished, and then over.

Invariant: from `stop_at` on, the run makes no call and none is in flight, whatever hangs: its lease expires, and
another executor may soon call.
"""

import asyncio
from dataclasses import dataclass

from timeball.domain.attempts.outcome import starts_as
from timeball.domain.model.jobs.job import Completion, Job
from timeball.domain.model.runs.run import Run
from timeball.domain.model.runs.spent import NOTHING, Spent
from timeball.domain.model.runs.verdict import Failed
from timeball.domain.model.terms.policies import Cause
from timeball.engine.context import Rules
from timeball.engine.execution.invocation import call_seconds
from timeball.ports.queue import Delivery
from timeball.ports.target import Answer, Call


@dataclass
class InFlight:
    """A run with its message, its row as last written, and its call.

    `is_watched` says that its resource has failed lately; `called_at` is when the call was made; `is_answered` says
    that the call has ended, `is_over` that this executor has nothing left to do for it; `took` is its share of the
    invocation, once it is answered.
    """

    delivery: Delivery
    run: Run
    job: Job
    is_watched: bool = False
    called_at: int | None = None
    is_answered: bool = False
    is_over: bool = False
    took: Spent = NOTHING
    _call: asyncio.Task[Answer | None] | None = None
    _is_cut: bool = False
    _instead: Answer | None = None

    @property
    def is_calling(self) -> bool:
        """Whether its call lasts."""
        return self.called_at is not None and not self.is_answered

    def stop_at(self, rules: Rules) -> int:
        """Return when (ms) this executor must let go: a margin before the lease's end. A renewal extends it."""
        return (self.run.lease_until or 0) - rules.margin_ms

    def given_up(self, now: int, error: str, *, timed_out: bool = False) -> Answer:
        """Return the answer for a call that this executor ends. It says nothing of the target."""
        failed = Failed(self.job.spec.retry.retries(Cause.TIMEOUT))
        return Answer(failed, self.called_at, now, error=error, timed_out=timed_out)

    async def answered(self, call: asyncio.Task[Answer | None]) -> Answer | None:
        """Wait for the call's answer, or for the one it was cut with. None: the attempt is no longer ours to finish."""
        self._call = call
        try:
            return await call
        except asyncio.CancelledError:
            if not self._is_cut:
                raise
            return self._instead
        finally:
            self.is_answered = True

    def cut(self, instead: Answer | None) -> bool:
        """End the call, with `instead` as its answer (None: no answer). False: it has ended, or has not begun."""
        if self._call is None or self._is_cut or not self._call.cancel():
            return False
        self._is_cut, self._instead = True, instead
        return True


def call_of(run: Run, job: Job) -> Call:
    """Return the call of a claimed run's attempt."""
    if job.spec.work is None:
        raise ValueError(f"job {job.key.job_id} was read without its work")
    seconds, takes_report = call_seconds(job.spec.timeout_seconds), job.spec.completion is Completion.CALLBACK
    retry_on, has_parents = job.spec.retry.retry_on, job.spec.pass_parents
    return Call(
        run.id,
        run.attempt,
        job.spec.work,
        seconds,
        retry_on,
        takes_report,
        run.depth,
        has_parents,
        job.task_id,
        starts_as(run),
        run.shown_origin,
    )
