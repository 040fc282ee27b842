"""What the API answers about a tenant's jobs and runs as a whole."""

from pydantic import Field

from functions.api.http.reply import Answer, Time
from timeball.domain.time.instants import SECOND_MS, format_instant
from timeball.domain.usage.estimate import Estimate
from timeball.domain.usage.figures import Figures
from timeball.engine.stats.runs import Window
from timeball.ports.queue import Depth


class CountAnswer(Answer):
    """How many there are: counted, or an estimate."""

    count: int
    exact: bool = Field(description="Whether all were counted.")
    standard_error: float = Field(description="Of an estimate: two times in three it is no farther off. Else 0.")


class DepthAnswer(Answer):
    """About how many messages a queue holds, as SQS tells it: of all tenants together."""

    waiting: int = Field(description="To be received now.")
    in_flight: int = Field(description="In the hands of executors.")
    delayed: int = Field(description="Sent ahead, or put off.")


class RefusedAnswer(Answer):
    """Requests that came with a key which opens nothing: of this tenant's, and for those who operate nobody's, too."""

    since: Time = Field(description="The beginning of an hour, about a day ago.")
    count: int
    by_reason: dict[str, int] = Field(description="`expired` or `revoked`; `unknown` or `malformed`.")


class StatsAnswer(Answer):
    """How a tenant stands now."""

    at: Time
    jobs: dict[str, CountAnswer] = Field(description="By the status that the API shows.")
    dead_letters: CountAnswer
    queues: dict[str, DepthAnswer] | None = Field(description="By priority; null outside of the operating tenant.")
    failed_authentications: RefusedAnswer | None = Field(description="Null for all roles but `admin`.")


class OnTimeAnswer(Answer):
    """Which share of the runs started no later than so; null if none started."""

    within1_second: float | None
    within5_seconds: float | None
    within30_seconds: float | None


class LatenessAnswer(Answer):
    """How late half of the runs, and 99 in 100, were at most: up to a third too much. Null if none started."""

    p50_seconds: float | None
    p99_seconds: float | None


class FiguresAnswer(Answer):
    """What runs came to."""

    started: int = Field(description="Runs whose first attempt began, backfills too.")
    succeeded: int
    retried: int = Field(description="Attempts that were followed by another.")
    dead: int = Field(description="Runs that failed for good.")
    skipped: int = Field(description="Fires that did not become a run, or whose run never started.")
    failure_rate: float | None = Field(description="`dead` of `dead` and `succeeded`; null if there are none.")
    on_time: OnTimeAnswer = Field(description="Backfills are left out.")
    lateness: LatenessAnswer = Field(description="Backfills are left out.")


class WindowAnswer(Answer):
    """A window, and what runs came to within it."""

    since: Time = Field(description="The beginning of an hour.")
    total: FiguresAnswer
    by_priority: dict[str, FiguresAnswer]


class SloAnswer(Answer):
    """How well a tenant's runs kept their time, by windows that end now."""

    at: Time
    windows: dict[str, WindowAnswer] = Field(description="`hour`, `day` and `month` (30 days).")


def count_answer(estimate: Estimate) -> CountAnswer:
    """Return the answer about how many there are."""
    return CountAnswer(count=estimate.count, exact=estimate.is_exact, standard_error=round(estimate.standard_error, 1))


def depth_answer(depth: Depth) -> DepthAnswer:
    """Return the answer about a queue."""
    return DepthAnswer(waiting=depth.waiting, in_flight=depth.in_flight, delayed=depth.delayed)


def window_answer(window: Window) -> WindowAnswer:
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
