"""Requests as API Gateway hands them to a function (payload format 2.0), and the bytes that it sends for an answer."""

import base64
from collections.abc import Iterable, Mapping
from typing import Any


def event_of(
    method: str, path: str, headers: Mapping[str, str], query: Iterable[tuple[str, str]] = (), body: bytes = b""
) -> dict[str, Any]:
    """Return the event of a request: the path is decoded, and the query has decoded names and values.

    The event has no `rawQueryString`, and its authorizer has answered nothing yet.
    """
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {name.lower(): value for name, value in headers.items()},
        "requestContext": {
            "requestId": "request-1",
            "stage": "$default",
            "authorizer": {"lambda": {}},
            "http": {"method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1"},
        },
        "isBase64Encoded": False,
    }
    joined: dict[str, str] = {}
    for name, value in query:  # the gateway joins repeated values with commas
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    if joined:
        event["queryStringParameters"] = joined
    return event | _body(body)


def _body(body: bytes) -> dict[str, Any]:
    try:
        return {"body": body.decode()} if body else {}
    except UnicodeDecodeError:
        return {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}


def sent_body(answer: Mapping[str, Any]) -> bytes:
    """Return the bytes that API Gateway sends for an answer."""
    return base64.b64decode(answer["body"]) if answer["isBase64Encoded"] else answer["body"].encode()
