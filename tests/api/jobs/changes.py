"""Requests that change a job, for tests."""

from dataclasses import replace
from typing import Any

from tests.api.client import Answer, Api
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobStatus

PATCH = ("PATCH", "", {"name": "another"})
PAUSE = ("POST", "/pause", None)
RESUME = ("POST", "/resume", None)
CHANGES = [PATCH, PAUSE, RESUME]
IDS = ["patch", "pause", "resume"]

Change = tuple[str, str, Any]


def row(api: Api, job: dict[str, Any]) -> Job:
    return api.store.jobs[JobKey("acme", job["jobId"])]


def ask(api: Api, job: dict[str, Any], change: Change, **headers: str) -> Answer:
    method, suffix, body = change
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return api.call(method, f"/v1/jobs/{job['jobId']}{suffix}", body, headers=sent)


def patch(api: Api, job: dict[str, Any], **fields: object) -> Answer:
    return ask(api, job, ("PATCH", "", fields))


def put_status(api: Api, job: dict[str, Any], status: JobStatus) -> None:
    api.store.jobs[JobKey("acme", job["jobId"])] = replace(row(api, job), status=status)
