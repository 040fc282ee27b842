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
        on_failure=whom(News.FAILURE),
        on_recovery=whom(News.RECOVERY),
        on_late=whom(News.LATE),
        on_success=whom(News.SUCCESS),
        after_failures=draw.choice((1, 1, 2)),
        late_after_seconds=draw.choice((2, 10)),
        deadline_seconds=draw.choice((None, 5)),
    )
    if _is_frequent(spec):
        notify = replace(notify, on_late=None)
    return replace(spec, notify=notify, pause_after_failures=draw.choice((None, None, 2)))


def telling_of_blocks(story: Story, spec: JobSpec) -> JobSpec:
    """Return a job of a graph as a user wants it: in some stories with notices of runs that its parents stop."""
    if not story.has_notices_of_blocks or not spec.depends_on:
        return spec
    after = 1 + len(spec.depends_on) % 2
    return replace(spec, notify=Notify(on_blocked=HttpTarget(f"https://{HOSTS[0]}/blocked"), after_blocked=after))


def _is_frequent(spec: JobSpec) -> bool:
    """Return whether a job fires too often for a notice of each fire."""
    return isinstance(spec.schedule.timing, Every) and spec.schedule.timing.seconds < 10
