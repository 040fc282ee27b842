"""The archive on the embedded AWS: a run and a change come from the table's stream into the bucket."""

import gzip
from collections.abc import Iterator
from typing import Any

import pytest

from local.demo_client import ApiClient
from local.stage import run_local_stage
from tests.end_to_end.steps import ask, until
from tests.streams import newest
from timeball.dev.stage import Stage

pytestmark = [pytest.mark.xdist_group("archive"), pytest.mark.more]


@pytest.fixture(scope="module")
def archived_stage() -> Iterator[Stage]:
    with run_local_stage(overrides={"archive": "full", "archive_seconds": 0}) as stage:
        yield stage


def _lines(stage: Stage) -> list[dict[str, Any]]:
    """Return the newest lines of the bucket, without doubles."""
    s3, bucket = stage.emulator.client("s3"), stage.deployment.outputs["ArchiveBucket"]
    keys = [one["Key"] for one in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]
    assert all(key.startswith("tenant=") for key in keys)
    bodies = [s3.get_object(Bucket=bucket, Key=key)["Body"].read() for key in keys]
    texts = [line for body in bodies for line in gzip.decompress(body).decode().splitlines()]
    return [*newest(texts).values()]


def test_a_run_that_ended_and_its_jobs_creation_are_in_the_bucket_as_the_api_shows_them(archived_stage: Stage) -> None:
    client = ApiClient(archived_stage.deployment.api_url, archived_stage.key)
    target = {"type": "http", "method": "GET", "url": f"{client.url}/healthz"}
    job = ask(client, "POST", "/v1/jobs", {"target": target})["jobId"]

    def of_job() -> dict[str, dict[str, Any]]:
        found = [line for line in _lines(archived_stage) if line.get("jobId") == job]
        return {"run" if "runId" in line else str(line["action"]): line for line in found}

    until(lambda: {"run", "create"} <= of_job().keys(), otherwise="the archive has no line about the job")
    lines = of_job()
    (shown,) = client.get(f"/v1/jobs/{job}/runs")["items"]
    assert {name: shown[name] for name in shown if name != "consoleUrl"}.items() <= lines["run"].items()
    (change,) = client.get("/v1/changes", jobId=job)["items"]
    assert change.items() <= lines["create"].items()
    assert lines["run"]["tenantId"] == archived_stage.tenant
