"""The custom resource of a CDK app's jobs: put what the app declares, and cancel what it no longer declares.

Every job has the tag `cdk`, the name of the construct that made it. A job without this name is neither replaced nor
cancelled. All steps may be repeated. A rollback is an update to the properties before, so it puts the former jobs back
and cancels the new ones.

Invariants: CloudFormation gets an answer whatever happens, and no answer and no log contains the key.
"""

import json
import logging
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

log = logging.getLogger()
log.setLevel(logging.INFO)

TAG: Final = "cdk"
"""The tag with the name of the construct that made a job."""
_AT_ONCE: Final = 100
"""How many jobs one request may put."""
_MOST_OF_REASON: Final = 1000
"""CloudFormation cuts an answer of more than 4 KB."""
_SECONDS: Final = 25
_TRIES: Final = 3
_OVER: Final = frozenset({"completed", "failed", "skipped", "cancelled"})

Body = Mapping[str, Any]
Send = Callable[[str, str, Body | None], tuple[int, Any]]
"""Sends a request, by method, path and body, and returns the status and the JSON of the answer."""


class RefusedJobsError(Exception):
    """The jobs cannot be put; its text is a sentence for the person who deploys."""


def handler(event: Mapping[str, Any], context: object) -> None:  # noqa: ARG001 - Lambda gives it
    """Carry out a request of CloudFormation, and answer it."""
    properties = event["ResourceProperties"]
    answer = {
        "Status": "SUCCESS",
        "PhysicalResourceId": properties["owner"],
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
    }
    try:
        carry_out(event, _sender(properties["url"], _key_in(properties["keyParameter"])))
    except RefusedJobsError as refused:
        log.warning("refused", extra={"reason": str(refused)})
        answer |= {"Status": "FAILED", "Reason": str(refused)[:_MOST_OF_REASON]}
    except Exception as failure:
        log.exception("failed")
        answer |= {"Status": "FAILED", "Reason": f"The jobs were not put: {type(failure).__name__}."}
    url = event["ResponseURL"]  # presigned by CloudFormation, so no other header may be sent
    request = urllib.request.Request(url, json.dumps(answer).encode(), {"Content-Type": ""}, method="PUT")  # noqa: S310
    with urllib.request.urlopen(request, timeout=_SECONDS):  # noqa: S310
        log.info("answered")


def carry_out(event: Mapping[str, Any], send: Send) -> None:
    """Put the jobs of a request, and cancel those that it no longer has. Raises RefusedJobsError."""
    properties = event["ResourceProperties"]
    owner = properties["owner"]
    declared = {} if event["RequestType"] == "Delete" else _jobs_of(properties)
    before = _jobs_of(event.get("OldResourceProperties", properties))
    found = {job_id: _owner_of(send, job_id) for job_id in {**declared, **before}}
    if foreign := sorted(job_id for job_id in declared if found[job_id] not in (None, owner)):
        raise RefusedJobsError(f"Jobs of these ids exist, and this construct has not made them: {', '.join(foreign)}.")
    _put(send, declared, owner)
    made = {job_id for job_id in before if found[job_id] == owner} | set(_listed(send, owner))
    order = {job_id: number for number, job_id in enumerate(before)}
    # Children were declared after their parents, so they are cancelled first.
    for job_id in sorted(made - declared.keys(), key=lambda job_id: order.get(job_id, -1), reverse=True):
        _cancel(send, job_id)


def _jobs_of(properties: Mapping[str, Any]) -> dict[str, Any]:
    jobs: dict[str, Any] = json.loads(properties.get("jobs") or "{}")
    return jobs


def _owner_of(send: Send, job_id: str) -> str | None:
    """Return which construct has made a job that is not over, "" for none; None: there is no such job."""
    status, answer = send("GET", f"/v1/jobs/{quote(job_id)}", None)
    if status == 404:
        return None
    if status != 200:
        raise RefusedJobsError(f"{job_id} cannot be read: {_detail(status, answer)}")
    if answer["status"] in _OVER and answer["tags"].get(TAG) is None:
        return None
    return str(answer["tags"].get(TAG, ""))


def _put(send: Send, jobs: Mapping[str, Any], owner: str) -> None:
    items = [{"jobId": job_id, **body, "tags": {**body.get("tags", {}), TAG: owner}} for job_id, body in jobs.items()]
    for start in range(0, len(items), _AT_ONCE):
        status, answer = send("POST", "/v1/jobs:batch", {"jobs": items[start : start + _AT_ONCE]})
        if status != 200:
            raise RefusedJobsError(_detail(status, answer))
        _check_results(items[start:], answer["items"])


def _check_results(items: Sequence[Body], results: Sequence[Body]) -> None:
    bad = [
        f"{items[result['index']]['jobId']}: {_detail(result['status'], result['problem'])}"
        for result in results
        if result["status"] >= 400
    ]
    if bad:
        raise RefusedJobsError(" ".join(bad))


def _listed(send: Send, owner: str) -> Iterator[str]:
    """Yield the jobs that the construct has made and that are not over."""
    cursor = ""
    while True:
        query = f"tag={quote(f'{TAG}:{owner}', safe='')}&limit=100&fields=summary&cursor={quote(cursor, safe='')}"
        status, answer = send("GET", f"/v1/jobs?{query if cursor else query.removesuffix('&cursor=')}", None)
        if status != 200:
            raise RefusedJobsError(f"The jobs cannot be listed: {_detail(status, answer)}")
        yield from (item["jobId"] for item in answer["items"] if item["status"] not in _OVER)
        cursor = answer["nextCursor"]
        if not cursor:
            return


def _cancel(send: Send, job_id: str) -> None:
    status, answer = send("DELETE", f"/v1/jobs/{quote(job_id)}?children=detach", None)
    if status not in (200, 404, 409):  # 409: it is over already
        raise RefusedJobsError(f"{job_id} cannot be cancelled: {_detail(status, answer)}")


def _detail(status: int, answer: Any) -> str:  # noqa: ANN401 - whatever JSON it is
    """Return what is wrong with a request, in the words of the API."""
    if not isinstance(answer, dict):
        return f"the API answered {status}."
    fields = [f"{error['field']}: {error['message']}" for error in answer.get("errors") or ()]
    return " ".join(fields) or str(answer.get("detail") or answer.get("title") or f"the API answered {status}.")


def _key_in(parameter: str) -> str:
    import boto3  # type: ignore[import-untyped,unused-ignore]  # noqa: PLC0415 - Lambda's Python has it

    found = boto3.client("ssm").get_parameter(Name=parameter, WithDecryption=True)
    return str(found["Parameter"]["Value"])


def _sender(url: str, key: str) -> Send:
    def send(method: str, path: str, body: Body | None) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        for tries_left in reversed(range(_TRIES)):
            request = urllib.request.Request(f"{url.rstrip('/')}{path}", data, headers, method=method)  # noqa: S310
            try:
                with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
                    return answer.status, json.loads(answer.read() or b"null")
            except urllib.error.HTTPError as error:
                if error.code < 500 or not tries_left:
                    return error.code, _json_of(error.read())
            except OSError:
                if not tries_left:
                    raise
        raise AssertionError("the last try returns or raises")

    return send


def _json_of(text: bytes) -> Any:  # noqa: ANN401 - whatever JSON it is
    try:
        return json.loads(text)
    except ValueError:
        return None
