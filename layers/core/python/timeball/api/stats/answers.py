"""The models of answers about all jobs and runs of a tenant."""

from pydantic import Field

from timeball.api.http.reply import AnswerModel, Time
from timeball.domain.time.instants import SECOND_MS, format_instant
from timeball.domain.usage.hours import Figures
from timeball.domain.usage.spending import Estimate
from timeball.engine.stats import StatsWindow
from timeball.ports.queue import Depth


class CountAnswer(AnswerModel):
    """A count or an estimate."""

    count: int = Field(description="How many there are.")
    exact: bool = Field(description="Whether all were counted.")
    standard_error: float = Field(
        description="The error of an estimate is at most this two times in three. 0 for a count."
    )


class DepthAnswer(AnswerModel):
    """About how many messages of all tenants a queue holds, according to SQS."""

    waiting: int = Field(description="Messages that can be received now.")
    in_flight: int = Field(description="Messages that executors have received.")
    delayed: int = Field(description="Messages whose delivery is delayed.")


class RefusedAnswer(AnswerModel):
    """Requests with invalid keys: this tenant's, and for the operating tenant also those of unknown keys."""

    since: Time = Field(description="The start of the count: the beginning of an hour about a day ago.")
    count: int = Field(description="The number of requests.")
    by_reason: dict[str, int] = Field(
        description="The number for each reason: `expired` or `revoked`; `unknown` or `malformed`."
    )


class StatsAnswer(AnswerModel):
    """A tenant's present state."""

    at: Time = Field(description="When it was read.")
    jobs: dict[str, CountAnswer] = Field(description="The number of jobs in each status.")
    dead_letters: CountAnswer = Field(description="The number of dead letters.")
    queues: dict[str, DepthAnswer] | None = Field(
        description="The queue of each priority; null outside of the operating tenant."
    )
    failed_authentications: RefusedAnswer | None = Field(
        description="Requests with invalid keys; null unless the caller's role is `admin`."
    )


class OnTimeAnswer(AnswerModel):
    """The fraction of runs that started at most so late; null if none started."""

    within1_second: float | None = Field(description="At most 1 second late.")
    within5_seconds: float | None = Field(description="At most 5 seconds late.")
    within30_seconds: float | None = Field(description="At most 30 seconds late.")


class LatenessAnswer(AnswerModel):
    """Percentiles of lateness, up to a third too high; null if none started."""

    p50_seconds: float | None = Field(description="Half of the runs were at most so many seconds late.")
    p99_seconds: float | None = Field(description="99 % of the runs were at most so many seconds late.")


class FiguresAnswer(AnswerModel):
    """Figures of runs."""

    started: int = Field(description="Runs whose first attempt began, including backfills.")
    succeeded: int = Field(description="Runs that succeeded.")
    retried: int = Field(description="Attempts that another attempt followed.")
    dead: int = Field(description="Runs that failed for good.")
    skipped: int = Field(description="Fires without a run, or whose run never started.")
    failure_rate: float | None = Field(description="`dead` divided by `dead` plus `succeeded`; null if both are 0.")
    on_time: OnTimeAnswer = Field(description="The fraction of runs on time, without backfills.")
    lateness: LatenessAnswer = Field(description="Percentiles of lateness, without backfills.")


class WindowAnswer(AnswerModel):
    """A time window, and the figures of its runs."""

    since: Time = Field(description="The start of the window: the beginning of an hour.")
    total: FiguresAnswer = Field(description="The figures of all runs.")
    by_priority: dict[str, FiguresAnswer] = Field(description="The figures of each priority.")


class SloAnswer(AnswerModel):
    """How punctual a tenant's runs were, in windows that end now."""

    at: Time = Field(description="When it was read: the end of the windows.")
    windows: dict[str, WindowAnswer] = Field(description="The windows `hour`, `day` and `month` (30 days).")


def count_answer(estimate: Estimate) -> CountAnswer:
    """Return the answer about a count or an estimate."""
    return CountAnswer(count=estimate.count, exact=estimate.is_exact, standard_error=round(estimate.standard_error, 1))


def depth_answer(depth: Depth) -> DepthAnswer:
    """Return the answer about a queue."""
    return DepthAnswer(waiting=depth.waiting, in_flight=depth.in_flight, delayed=depth.delayed)


def window_answer(window: StatsWindow) -> WindowAnswer:
    """Return the answer about a window."""
    return WindowAnswer(
        since=format_instant(window.from_at),
        total=_figures_answer(window.total),
        by_priority={priority.value: _figures_answer(one) for priority, one in window.by_priority.items()},
    )


def _figures_answer(figures: Figures) -> FiguresAnswer:
    within = figures.on_time()
    return FiguresAnswer(
        started=figures.started,
        succeeded=figures.succeeded,
        retried=figures.retried,
        dead=figures.dead,
        skipped=figures.skipped,
        failure_rate=figures.failure_rate,
        on_time=OnTimeAnswer(within1_second=within[1], within5_seconds=within[5], within30_seconds=within[30]),
        lateness=LatenessAnswer(
            p50_seconds=_seconds(figures.percentile_ms(0.5)), p99_seconds=_seconds(figures.percentile_ms(0.99))
        ),
    )


def _seconds(late_ms: int | None) -> float | None:
    return None if late_ms is None else late_ms / SECOND_MS
