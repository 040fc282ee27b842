"""The API over the memory store as an ASGI application, with API Gateway's conversion of requests and answers.

The gateway knows one key. world.py lets time pass beside it.
"""

import base64
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl

from aws_lambda_powertools.utilities.typing import LambdaContext

from tests.api.client import Api, event_of
from timeball.testing.gateway import sent_body

KEY = "tb_of_the_fuzzer"

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]


def gateway(api: Api, before_each: Callable[[], None]) -> Application:
    """Return the application; `before_each` is called before each request."""

    async def application(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        before_each()
        answer = api.handle(_event(scope, await _body(receive)), LambdaContext())
        headers = [(name.lower().encode(), value.encode()) for name, value in answer["headers"].items()]
        await send({"type": "http.response.start", "status": answer["statusCode"], "headers": headers})
        await send({"type": "http.response.body", "body": sent_body(answer)})

    return application


def _event(scope: Message, body: bytes) -> dict[str, Any]:
    headers = _joined((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"])
    query = _joined(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
    tenant = "acme" if headers.get("authorization") == f"Bearer {KEY}" else None
    event = event_of(scope["method"], scope["path"], tenant, headers, query)
    event["rawQueryString"] = scope["query_string"].decode("latin-1")
    return event | {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}


def _joined(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Join values of one name with commas, as API Gateway does."""
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


async def _body(receive: Receive) -> bytes:
    parts = []
    more = True
    while more:
        message = await receive()
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(parts)
