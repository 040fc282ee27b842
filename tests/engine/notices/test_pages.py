"""A notice names the page of its run or job in the console, where one is deployed."""

import json
from dataclasses import replace

import pytest

from tests.engine.play import NOW, Play, spec
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.reason import Reason
from timeball.domain.model.terms.dependency import Blocked
from timeball.domain.model.terms.notify import News, Notify, RunEnd
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.run_ends.notices import notice_of_block, notice_of_end
from timeball.domain.time.schedule import Every
from timeball.engine.notices import post

BELOW = "https://timeball.example/console"
RUN = RunId(JobKey("acme", "nightly"), NOW, Origin.SCHEDULE)
TOLD = Notify(on_failure=HttpTarget("https://told.example/failed"))


def failure(job: Job) -> JobSpec | None:
    return notice_of_end(job, News.FAILURE, RunEnd(RUN, 4, Reason.RETRIES_EXHAUSTED, NOW))


def block(job: Job) -> JobSpec | None:
    return notice_of_block(job, Blocked(RUN, ()), NOW)


@pytest.mark.parametrize(
    ("console", "news", "page"),
    [
        (BELOW, News.FAILURE, f"{BELOW}/#/runs/{RUN}"),
        (BELOW, News.BLOCKED, f"{BELOW}/#/jobs/nightly"),  # a one-off that is blocked has no run
        ("", News.FAILURE, None),  # no console
        ("", News.BLOCKED, None),
    ],
)
def test_a_notice_names_the_page_of_its_run_or_job(console: str, news: News, page: str | None) -> None:
    play = Play()
    (job,) = play.store_jobs([replace(spec("nightly", Every(60, NOW)), notify=TOLD)])
    notice = block(job) if news is News.BLOCKED else failure(job)
    assert notice is not None
    post(replace(play.context(), console=console), [(0, notice)])
    (stored,) = play.store.jobs.read([notice.key], with_work=True)
    assert stored is not None
    assert stored.spec.work is not None
    told = json.loads(stored.spec.work.payload or "")
    assert told.get("consoleUrl") == page
    assert (told["type"], told["jobId"]) == (news, "nightly")


def test_a_notice_is_the_same_one_before_and_after_the_console_is_deployed() -> None:
    play = Play()
    (job,) = play.store_jobs([replace(spec("nightly", Every(60, NOW)), notify=TOLD)])
    for console in ("", BELOW):
        post(replace(play.context(), console=console), [(0, failure(job))])
    assert len(play.messages()) == 0
    assert sum(key.job_id.startswith("notice-") for key in play.store.jobs) == 1  # type: ignore[attr-defined]
