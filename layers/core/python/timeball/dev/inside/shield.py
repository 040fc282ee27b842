"""Shield the embedded AWS, so that web pages and webhooks cannot run code as the user who started it.

The emulator answers every origin under every name, and accepts the key `test` without a signature: a mere link to its
CreateStack runs code. So the shield wraps the emulator's application, where HTTP/1.1, HTTP/2 and WebSockets have become
one protocol, and refuses:
* a host other than 127.0.0.1, `localhost` and the names below it: a page's own name may be made to resolve to this
  machine;
* requests of a browser, also those that the browser attributes to its user (`Sec-Fetch-Site: none`): such a request may
  be a link in a mail, or the redirect of such a link;
* requests of a webhook: its tenant chooses the URL and headers, and webhooks of the local stage may call this machine.
  The executors name the run in a header of each webhook, which no job can change or leave out.

Invariant: browsers and webhooks reach deployed HTTP APIs and nothing else; a browser only from the API's own page, or
from no page at all.

One case remains: a browser that sends no `Sec-Fetch-Site` (older than Chrome 76, Firefox 90, Safari 16.4), follows a
link or loads an image, which carries no `Origin`, and has an unusual `User-Agent`; a page cannot make it do that.
Programs on this machine are not refused.

This runs on the emulator's Python, which has none of our code: it imports only the standard library.
"""

import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, MutableMapping
from typing import Any

_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]
_Application = Callable[[_Message, _Receive, _Send], Coroutine[Any, Any, None]]

WRONG_HOST = "The embedded AWS answers at 127.0.0.1 and localhost only."
BROWSER = "The embedded AWS refuses browsers; a deployed API answers its own page."

WEBHOOK = "The embedded AWS refuses webhooks; a deployed API answers the webhooks of its jobs."

_HOST = re.compile(r"(127\.0\.0\.1|([a-z0-9_-]+\.)*localhost)(:[0-9]+)?", re.IGNORECASE)

# The emulator decides which requests are for an API: with another host it tries more services before the path, and it
# reads the headers if the path ends with the API's id. Under an API's own host it takes some paths for itself.
_PATH_OF_API = re.compile(r"/_aws/execute-api/[^/]+/")
_HOST_FOR_PATHS = re.compile(r"(127\.0\.0\.1|localhost)(:[0-9]+)?")
_HOST_OF_API = re.compile(r"[a-f0-9]{8}\.execute-api\.localhost(:[0-9]+)?")
_PATH_OF_NO_API = re.compile(
    r"/(_|v2|iceberg|oauth2/|(health|login|logout|WriteGetObjectResponse)$"
    r"|(Execute|BatchExecute|BeginTransaction|CommitTransaction|RollbackTransaction)$"
    r"|v20180820/|.*\.well-known/)",
    re.DOTALL,
)


def refusal(kind: str, path: str, headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """Return the sentence with which a request is refused; `None` if it may pass.

    All arguments are as in ASGI: `http` or `websocket`, the decoded path, the headers as they were sent, with repeats.
    """
    values = _by_name(headers)
    hosts = values.get("host", [])
    if len(hosts) != 1 or not _HOST.fullmatch(hosts[0]):
        return WRONG_HOST
    is_for_api = kind == "http" and _is_for_api(hosts[0], path)
    if "timeball-run-id" in values and not is_for_api:
        return WEBHOOK
    if _is_of_browser(values) and not (is_for_api and _is_from_own_page_or_none(hosts[0], values)):
        return BROWSER
    return None


def _by_name(headers: Iterable[tuple[bytes, bytes]]) -> Mapping[str, list[str]]:
    """Return the values of headers by their names in lower case."""
    values: dict[str, list[str]] = {}
    for name, value in headers:
        values.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return values


def _is_of_browser(values: Mapping[str, list[str]]) -> bool:
    # Every browser names itself Mozilla, and no client of AWS does; a page needs a preflight to change that.
    is_named_so = any(agent.startswith("Mozilla/") for agent in values.get("user-agent", []))
    return is_named_so or "origin" in values or "sec-fetch-site" in values


def _is_for_api(host: str, path: str) -> bool:
    if _HOST_OF_API.fullmatch(host):
        return not _PATH_OF_NO_API.match(path)
    return bool(_HOST_FOR_PATHS.fullmatch(host) and _PATH_OF_API.match(path))


def _is_from_own_page_or_none(host: str, values: Mapping[str, list[str]]) -> bool:
    origins, sites = values.get("origin", []), values.get("sec-fetch-site", [])
    if origins:
        return origins == [f"http://{host}"] and sites == ["same-origin"]
    return sites in ([], ["none"], ["same-origin"])


def shielded(application: _Application) -> _Application:
    """Return an ASGI application that answers 403 to refused requests, and hands all others to this application."""

    async def shield(scope: _Message, receive: _Receive, send: _Send) -> None:
        kind = scope["type"]
        why = None if kind == "lifespan" else refusal(kind, scope["path"], scope["headers"])
        if why is None:
            await application(scope, receive, send)
            return
        # Without CORS headers the page learns nothing, not even the sentence.
        answer = "websocket.http.response" if kind == "websocket" else "http.response"
        body = f"{why}\n".encode()
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
        await send({"type": f"{answer}.start", "status": 403, "headers": headers})
        await send({"type": f"{answer}.body", "body": body})

    return shield
