"""The notices that users want about their jobs. They are drawn from the job's name, so no change alters them."""

from dataclasses import replace
from random import Random

from tests.simulation.story import Story
from tests.simulation.world.receiver import HOSTS
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.terms.notify import News, Notify
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.schedule import Every

_WISHES = 0.7


def telling(story: Story, spec: JobSpec) -> JobSpec:
    """Return a job as a user wants it: in some stories with notices."""
    draw = Random(f"who is told of {spec.key.job_id} of {story.seed}")
    if not story.has_notices or draw.random() > _WISHES:
        return spec

    def whom(news: News) -> HttpTarget | None:
        return HttpTarget(f"https://{HOSTS[0]}/{news}") if draw.random() < _WISHES else None

    notify = Notify(
        whom(News.FAILURE),
        whom(News.RECOVERY),
        whom(News.LATE),
        whom(News.SUCCESS),
        draw.choice((1, 1, 2)),
        draw.choice((2, 10)),
        draw.choice((None, 5)),
    )
    if _is_frequent(spec):
        notify = replace(notify, on_late=None)
    return replace(spec, notify=notify, pause_after_failures=draw.choice((None, None, 2)))


def _is_frequent(spec: JobSpec) -> bool:
    """Return whether a job fires too often for a notice of each fire."""
    return isinstance(spec.schedule.timing, Every) and spec.schedule.timing.seconds < 10
