"""The custom resource of a CDK app's jobs: put what the app declares, and cancel what it no longer declares.

Every job has the tag `cdk`: the maker, which is the construct in its stack, and the place, which is the URL and the
parameter with the key. A job of another maker is neither replaced nor cancelled. All steps may be repeated. A rollback
is an update to the properties before, so it puts the former jobs back and cancels the new ones.

The tag is also the id of the resource. Another place makes another id, so CloudFormation then asks to delete the
resource at the former place. Both places may be the same Timeball, so a removal cancels only the jobs with its own tag.

Invariants: CloudFormation gets an answer whatever happens, and no answer and no log contains the key.
"""

import hashlib
import json
import logging
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

log = logging.getLogger()
log.setLevel(logging.INFO)

TAG: Final = "cdk"
"""The tag with the maker of a job and its place."""
NOTHING: Final = "no-jobs"
"""The id of a resource whose creation failed before it put a job. Its removal needs no key."""
_AT_ONCE: Final = 100
"""How many jobs one request may put."""
_MOST_OF_REASON: Final = 1000
"""CloudFormation cuts an answer of more than 4 KB."""
_SECONDS: Final = 25
_TRIES: Final = 5
_TOO_MANY: Final = 429
_LONGEST_WAIT_SECONDS: Final = 10
_KEY: Final = re.compile("[!-~]+")
_LONGEST_NAME: Final = 200
"""A tag takes 256 characters, and the name of a construct may have 255."""
_OVER: Final = frozenset({"completed", "failed", "skipped", "cancelled"})

Body = Mapping[str, Any]
Send = Callable[[str, str, Body | None], tuple[int, Any]]
"""Sends a request, by method, path and body, and returns the status and the JSON of the answer."""
Sleep = Callable[[float], object]
"""Waits for some seconds."""


class RefusedJobsError(Exception):
    """The jobs cannot be put; its text is a sentence for the person who deploys."""


def handler(event: Mapping[str, Any], context: object) -> None:  # noqa: ARG001 - Lambda gives it
    """Carry out a request of CloudFormation, and answer it."""
    properties = event["ResourceProperties"]
    answer = {
        "Status": "SUCCESS",
        "PhysicalResourceId": event.get("PhysicalResourceId", NOTHING),
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
    }
    try:
        if event["RequestType"] != "Delete" or answer["PhysicalResourceId"] != NOTHING:
            send = sender(properties["url"], _key_in(properties["keyParameter"]), time.sleep)
            found = look(event, send)
            answer["PhysicalResourceId"] = owner_of(event)  # from here on, there may be something to remove
            carry_out(event, found, send)
    except RefusedJobsError as refused:
        log.warning("refused", extra={"reason": str(refused)})
        answer |= {"Status": "FAILED", "Reason": str(refused)[:_MOST_OF_REASON]}
    except Exception as failure:  # noqa: BLE001 - CloudFormation waits for an answer
        # Neither the text of the error nor its traceback: they may quote a header with the key.
        log.error("failed: %s", type(failure).__name__)  # noqa: TRY400
        answer |= {"Status": "FAILED", "Reason": f"The jobs were not put: {type(failure).__name__}."}
    url = event["ResponseURL"]  # presigned by CloudFormation, so no other header may be sent
    request = urllib.request.Request(url, json.dumps(answer).encode(), {"Content-Type": ""}, method="PUT")  # noqa: S310
    with urllib.request.urlopen(request, timeout=_SECONDS):  # noqa: S310
        log.info("answered")


def owner_of(event: Mapping[str, Any]) -> str:
    """Return the tag of the jobs that a request is about: their maker and their place."""
    properties = event["ResourceProperties"]
    return f"{_maker_of(event)}{_hash_of(properties['url'], properties['keyParameter'])}"


def _maker_of(event: Mapping[str, Any]) -> str:
    # Without the last part, which another stack of the same name would not have: it takes over what was left.
    stack = event["StackId"].rpartition("/")[0]
    name = event["ResourceProperties"]["owner"]
    return f"{name[:_LONGEST_NAME]}-{_hash_of(stack, name)}-"


def _hash_of(*texts: str) -> str:
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:12]


def look(event: Mapping[str, Any], send: Send) -> dict[str, str | None]:
    """Return the owners of the jobs that a request names. Raises RefusedJobsError if one to put has another maker."""
    declared, before = _declared_in(event), _before(event)
    found = {job_id: _owner_of(send, job_id) for job_id in {**declared, **before}}
    maker = _maker_of(event)
    foreign = [job_id for job_id in declared if not (found[job_id] is None or str(found[job_id]).startswith(maker))]
    if foreign:
        listed = ", ".join(sorted(foreign))
        raise RefusedJobsError(f"Jobs of these ids exist, and this construct has not made them: {listed}.")
    return found


def carry_out(event: Mapping[str, Any], found: Mapping[str, str | None], send: Send) -> None:
    """Put the jobs of a request, and cancel those that it no longer has. Raises RefusedJobsError."""
    declared, before, owner = _declared_in(event), _before(event), owner_of(event)
    _put(send, declared, owner)
    # The list lags, so it may still name a job that was put at another place since.
    listed = {job_id: _owner_of(send, job_id) for job_id in _listed(send, owner) if job_id not in found}
    own = owner if event["RequestType"] == "Delete" else _maker_of(event)
    made = {job_id for job_id, maker in {**found, **listed}.items() if maker is not None and maker.startswith(own)}
    order = {job_id: number for number, job_id in enumerate(before)}
    # Children were declared after their parents, so they are cancelled first.
    for job_id in sorted(made - declared.keys(), key=lambda job_id: order.get(job_id, -1), reverse=True):
        _cancel(send, job_id)


def _declared_in(event: Mapping[str, Any]) -> dict[str, Any]:
    return {} if event["RequestType"] == "Delete" else _jobs_of(event["ResourceProperties"])


def _before(event: Mapping[str, Any]) -> dict[str, Any]:
    return _jobs_of(event.get("OldResourceProperties", event["ResourceProperties"]))


def _jobs_of(properties: Mapping[str, Any]) -> dict[str, Any]:
    jobs: dict[str, Any] = json.loads(properties.get("jobs") or "{}")
    return jobs


def _owner_of(send: Send, job_id: str) -> str | None:
    """Return the tag of a job by its maker, "" if it has none; None: there is no such job, or it is over."""
    status, answer = send("GET", f"/v1/jobs/{quote(job_id)}", None)
    if status == 404:
        return None
    if status != 200:
        raise RefusedJobsError(f"{job_id} cannot be read: {_detail(status, answer)}")
    if answer["status"] in _OVER:
        return None  # the jobs of a removed stack keep their tags
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
    # Lambda's Python has them.
    import boto3  # type: ignore[import-untyped,unused-ignore]  # noqa: PLC0415
    from botocore.exceptions import ClientError  # type: ignore[import-untyped,unused-ignore]  # noqa: PLC0415

    try:
        found = boto3.client("ssm").get_parameter(Name=parameter, WithDecryption=True)
    except ClientError as error:
        code = error.response["Error"]["Code"]
        raise RefusedJobsError(f"The parameter {parameter} cannot be read: {code}.") from None
    key = str(found["Parameter"]["Value"]).strip()
    if not _KEY.fullmatch(key):
        raise RefusedJobsError(f"The parameter {parameter} has no key; put the key alone, on one line.")
    return key


def sender(url: str, key: str, sleep: Sleep) -> Send:
    """Return what sends requests to the API, and repeats them if it asks for that or does not answer."""

    def send(method: str, path: str, body: Body | None) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        for tries_left in reversed(range(_TRIES)):
            request = urllib.request.Request(f"{url.rstrip('/')}{path}", data, headers, method=method)  # noqa: S310
            wait = 1
            try:
                with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
                    return answer.status, json.loads(answer.read() or b"null")
            except urllib.error.HTTPError as error:
                if not tries_left or (error.code < 500 and error.code != _TOO_MANY):
                    return error.code, _json_of(error.read())
                wait = _seconds_in(error.headers.get("Retry-After", ""))
            except OSError:
                if not tries_left:
                    raise
            sleep(wait)
        raise AssertionError("the last try returns or raises")

    return send


def _seconds_in(retry_after: str) -> int:
    """Return how long to wait (s). A date, which Timeball does not send, is taken as a second."""
    return min(int(retry_after), _LONGEST_WAIT_SECONDS) if re.fullmatch("[0-9]{1,9}", retry_after) else 1


def _json_of(text: bytes) -> Any:  # noqa: ANN401 - whatever JSON it is
    try:
        return json.loads(text)
    except ValueError:
        return None
