"""Custom resources: CloudFormation asks a function to create or change one, and waits for an answer at a URL.

Invariant: CloudFormation gets an answer whatever happens, and no answer contains more than intended.
"""

import json
import logging
import time
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

log = logging.getLogger()
log.setLevel(logging.INFO)

_ANSWER_SECONDS: Final = 10
_PAUSES_SECONDS: Final = (1, 2, 4, 8, 8, 8)
"""Half a minute in all: AWS says that permissions reach all of its servers within seconds."""
_FOR_NOW: Final = ("AccessDenied", "UnrecognizedClient", "InvalidClientTokenId", "ResourceInUse", "ResourceNotFound")
"""Parts of the error codes that a new role or a new table causes at first."""

_Done = TypeVar("_Done")


class RefusedError(Exception):
    """The request is refused, with a sentence for the person who deploys."""


def answered(event: Mapping[str, Any], physical_id: str, failed: str, act: Callable[[], None]) -> None:
    """Act, and report the result to CloudFormation; `failed` begins the sentence about an unexpected error."""
    answer = {
        "Status": "SUCCESS",
        "PhysicalResourceId": physical_id,
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
    }
    try:
        act()
    except RefusedError as refusal:
        log.warning("refused", extra={"reason": str(refusal)})
        answer |= {"Status": "FAILED", "Reason": str(refusal)}
    except Exception as failure:
        log.exception("failed")
        answer |= {"Status": "FAILED", "Reason": f"{failed}: {type(failure).__name__}."}
    url = event["ResponseURL"]  # presigned by CloudFormation, so no other header may be sent
    request = urllib.request.Request(url, json.dumps(answer).encode(), {"Content-Type": ""}, method="PUT")  # noqa: S310
    with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS):  # noqa: S310
        log.info("answered")


def when_ready(act: Callable[[], _Done], sleep: Callable[[float], None] = time.sleep) -> _Done:
    """Act, and retry after a pause while AWS refuses temporarily: a new role's permissions take seconds to spread.

    Raises the last temporary refusal, and any other error at once.
    """
    for pause_seconds in _PAUSES_SECONDS:
        try:
            return act()
        except Exception as error:
            if not _is_for_now(error):
                raise
            log.info("not ready yet", extra={"error": type(error).__name__})
        sleep(pause_seconds)
    return act()


def _is_for_now(error: Exception) -> bool:
    from botocore.exceptions import ClientError  # noqa: PLC0415 - only in functions that call AWS

    code = error.response.get("Error", {}).get("Code", "") if isinstance(error, ClientError) else ""
    return any(word in code for word in _FOR_NOW)
