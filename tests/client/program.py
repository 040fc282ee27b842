"""A program as a user writes it: `make check` reads it by mypy, `make test-all` by pyright, and a test runs it.

An `assert_type` fails if a type is lost on the way, and a `type: ignore` fails if the line beside it is right.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, assert_type

from timeball.client import (
    AsyncPages,
    AsyncRunHandle,
    AsyncTimeball,
    BadField,
    Cron,
    Http,
    Invalid,
    Job,
    Notify,
    OperationHandle,
    Pages,
    RunFailed,
    RunHandle,
    Slack,
    Timeball,
    WebhookCall,
    verify,
)
from timeball.client.models import JobAnswer, ListedJobAnswer, NowAnswer, RunAnswer, RunDetailAnswer

NIGHTLY = Job(
    call=Http("https://app.example/report", secret="timeball/acme/report"),
    when=Cron("0 2 * * *", "Europe/Berlin"),
    retries=3,
    overlap="skip",
    notify=Notify(on_failure=Slack("https://hooks.slack.com/services/T/B/x")),
)


def schedule(tb: Timeball) -> str:
    """Schedule a report, run it now, and pause everything."""
    made = tb.jobs.put("nightly-report", NIGHTLY)
    assert_type(made, JobAnswer)
    assert_type(made.next_run_at, datetime | None)
    assert_type(tb.jobs.list(status="paused", tag="team:web"), Pages[ListedJobAnswer])
    for one in tb.jobs.list(status="paused"):
        assert_type(one.id, str)
        tb.jobs.resume(one.id)
    handle = tb.jobs.trigger(made.id, payload={"report": "tax"})
    assert_type(handle, RunHandle)
    run = handle.wait(timeout=60)
    assert_type(run, RunDetailAnswer)
    assert_type(run.attempts[0].http_status, int | None)
    assert_type(tb.operations.create("pause", all_jobs=True), OperationHandle)
    assert_type(tb.jobs.runs(made.id).first(), RunAnswer | None)
    assert_type(tb.request("GET", "/v1/me"), Any)
    return run.status


def mistakes(tb: Timeball) -> None:
    """Call nothing: a type checker refuses each line."""
    tb.jobs.put("nightly-report", Job(call=7))  # type: ignore[arg-type]
    tb.jobs.put("nightly-report", Job(call="mail", overlap="wait"))  # type: ignore[arg-type]
    tb.jobs.get(7)  # type: ignore[arg-type]
    tb.jobs.get("nightly-report").next_rum_at  # type: ignore[attr-defined]  # noqa: B018 - the mistake
    tb.jobs.delete("nightly-report", children="drop")  # type: ignore[arg-type]
    tb.jobs.pauze("nightly-report")  # type: ignore[attr-defined]


def reasons(failed: RunFailed, refused: Invalid) -> list[BadField]:
    """Return what is known of an error."""
    assert_type(failed.run.reason_text, str | None)
    return list(refused.errors)


async def watch(tb: AsyncTimeball) -> str:
    """Do the same with an event loop."""
    assert_type(await tb.jobs.put("nightly-report", NIGHTLY), JobAnswer)
    assert_type(tb.jobs.list(), AsyncPages[ListedJobAnswer])
    async for one in tb.jobs.list():
        assert_type(one, ListedJobAnswer)
    handle = await tb.jobs.trigger("nightly-report")
    assert_type(handle, AsyncRunHandle)
    async for run in handle.follow(timeout=60):
        assert_type(run, RunDetailAnswer)
    assert_type(await tb.now(), NowAnswer)
    return (await handle.wait()).status


def endpoint(headers: Mapping[str, str], body: bytes, secret: str) -> None:
    """Answer a call later."""
    call = verify(headers=headers, body=body, secret=secret)
    assert_type(call, WebhookCall)
    call.complete({"rows": 17})
