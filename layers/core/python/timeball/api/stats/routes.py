"""The routes of statistics."""

from timeball.api.http.access import Access
from timeball.api.http.route import Route
from timeball.api.stats.answers import SloAnswer, StatsAnswer
from timeball.api.stats.costs import JobCostAnswer, read_job_cost
from timeball.api.stats.reading import read_slo, read_stats

ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/stats",
        read_stats,
        "Count jobs by status, and dead letters",
        StatsAnswer,
        access=Access.READ,
    ),
    Route(
        "GET",
        "/v1/jobs/{jobId}/cost",
        read_job_cost,
        "Read what a job's runs have cost lately",
        JobCostAnswer,
        access=Access.READ,
    ),
    Route("GET", "/v1/slo", read_slo, "Read how late runs were, and how many failed", SloAnswer, access=Access.READ),
)
