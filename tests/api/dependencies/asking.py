"""Requests for jobs that depend on other jobs."""

from typing import Any

from tests.api.client import Answer, Api

SOON = "2026-11-21T10:00:00.000Z"
HOOK = {"handler": "https://example.com/hook"}


def put(api: Api, job_id: str, *parents: object, **fields: object) -> Answer:
    when = {} if parents else {"scheduleAt": SOON}
    depends = {"dependsOn": list(parents)} if parents else {}
    return api.call("PUT", f"/v1/jobs/{job_id}", {**HOOK, **when, **depends, **fields})


def batch(api: Api, *jobs: dict[str, object]) -> list[Any]:
    answer = api.call("POST", "/v1/jobs:batch", {"jobs": [{**HOOK, **job} for job in jobs]})
    assert answer.status == 200, answer.text
    items: list[Any] = answer.body["items"]
    return items


def sentences(answer: Answer) -> dict[str, str]:
    assert answer.status == 400, answer.text
    return {error["field"]: error["message"] for error in answer.body["errors"]}
