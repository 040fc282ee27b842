"""The canary goes the whole way: from the scan through a queue and an executor to its function."""

from collections.abc import Iterator

import pytest

from local.demo_client import ApiClient
from local.stage import run_local_stage
from tests.end_to_end.steps import until
from timeball.dev.stage import Stage

pytestmark = [pytest.mark.xdist_group("canary"), pytest.mark.more]


@pytest.fixture(scope="module")
def watched_stage() -> Iterator[Stage]:
    with run_local_stage(overrides={"alarms": "on", "canary_seconds": 60}) as stage:
        yield stage


def test_a_run_of_the_canary_is_recorded_by_its_function_within_two_minutes(watched_stage: Stage) -> None:
    admin = ApiClient(watched_stage.deployment.api_url, watched_stage.admin_key)
    job = admin.get("/v1/jobs/timeball-canary")
    assert (job["status"], job["target"]["type"]) == ("pending", "lambda")

    def runs() -> list[dict[str, str]]:
        found: list[dict[str, str]] = admin.get("/v1/jobs/timeball-canary/runs")["items"]
        return [run for run in found if run["status"] in ("succeeded", "failed")]

    until(lambda: bool(runs()), otherwise="the canary does not run")
    assert [run["status"] for run in runs()] == ["succeeded"], runs()
