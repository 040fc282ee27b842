"""Faults of notices: what is news, which subscriber gets it, and when it is none."""

from collections.abc import Sequence
from typing import Any

from tests.simulation.faults.hands import Fault, instead, lost
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Job, JobSpec, with_spec
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.notify import News, RunEnd
from timeball.domain.run_ends.notices import (
    failing,
    is_late,
    is_to_pause,
    notice_of_end,
    notice_of_stop,
    notices_ahead,
    stopped,
)
from timeball.ports.rows import Swap


def _without(news: News) -> Any:
    def notice(job: Job, of: News, end: RunEnd, since: Any = None) -> JobSpec | None:
        return None if of is news else notice_of_end(job, of, end, since)

    return notice


def _with_wishes_of_its_own(job: Job, of: News, end: RunEnd, since: Any = None) -> JobSpec | None:
    notice = notice_of_end(job, of, end, since)
    return None if notice is None else evolve(notice, notify=job.spec.notify)


def _after_its_first_failure(job: Job, newest: Sequence[Run]) -> bool:
    return is_to_pause(with_spec(job, pause_after_failures=1 if job.spec.pause_after_failures else None), newest)


def _ends_a_notice(swap: Swap[Any]) -> bool:
    return isinstance(swap.after, Job) and swap.after.spec.notice is not None and not swap.after.is_open


FAULTS = {
    "a success sends no notice": Fault(
        instead(notice_of_end, _without(News.SUCCESS)),
        "each success sends a notice",
        scene="jobs that tell of their ends",
    ),
    "a failure sends no notice": Fault(
        instead(notice_of_end, _without(News.FAILURE)),
        "a job that begins to fail sends a notice",
        scene="jobs that tell of their ends",
    ),
    "a recovery sends no notice": Fault(
        instead(notice_of_end, _without(News.RECOVERY)),
        "a job that recovers sends a notice",
        scene="jobs that tell of their ends",
    ),
    "a job does not note that it is failing": Fault(
        instead(failing, lambda job, *_: job),
        "a job is failing as its newest ends say",
        scene="jobs that tell of their ends",
    ),
    "a streak of stopped runs is not noted": Fault(
        instead(stopped, lambda job, *_: job),
        "a job is stopped as its newest runs say",
        scene="jobs that their parents stop",
    ),
    "a streak of stopped runs sends no notice": Fault(
        instead(notice_of_stop, lambda _: None),
        "a job that its parents stop sends a notice",
        scene="jobs that their parents stop",
    ),
    "one failure pauses a job": Fault(
        instead(is_to_pause, _after_its_first_failure),
        "only a streak of failures pauses a job",
        scene="jobs that tell of their ends",
    ),
    "a notice sends notices of its own": Fault(
        instead(notice_of_end, _with_wishes_of_its_own),
        "a notice sends no notice",
        scene="jobs that tell of their ends",
    ),
    "no notice is made ahead": Fault(
        instead(notices_ahead, lambda *_: iter(())),
        "each run that may be late has its notice ahead",
        scene="jobs that tell of their ends",
    ),
    "every run counts as late": Fault(
        instead(is_late, lambda *_: True), "exactly the late runs send a notice", scene="jobs that tell of their ends"
    ),
    "no run counts as late": Fault(instead(is_late, lambda *_: False), "exactly the late runs send a notice", 63),
    "a needless notice is not ended": Fault(
        lost("jobs.swap", _ends_a_notice),
        "a notice is called or needless in the end",
        scene="jobs that tell of their ends",
    ),
}
