import asyncio
from typing import Any

import pytest

from timeball.dev.inside.shield import BROWSER, WEBHOOK, WRONG_HOST, refusal, shielded

HOST = "127.0.0.1:4566"
API = "/_aws/execute-api/0123abcd/v1/jobs"
API_HOST = "0123abcd.execute-api.localhost:4566"
FUNCTIONS = "/2015-03-31/functions"


def headers_of(*headers: tuple[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers]


# The Host header of a client that is no browser.
ANSWERED = [
    "127.0.0.1",
    "127.0.0.1:4566",
    "localhost",
    "LocalHost:4566",
    "bucket.with.dots.s3.localhost:4566",
]
REFUSED = [
    "",
    ":4566",
    "evil.example",
    "127.0.0.1.evil.example",
    "localhost.evil.example:4566",
    "evillocalhost",  # only its end is the same
    ".localhost",
    "localhost.",  # the same host, but no client of ours writes it so
    "127.0.0.1.:4566",
    "127.0.0.2",
    "127.1",
    "2130706433",
    "0.0.0.0",  # noqa: S104 - some browsers reach this machine by it
    "[::1]:4566",
    "[::ffff:127.0.0.1]",
    "127.0.0.1:4566, evil.example",
    "evil.example@localhost",
    "evil.example/.localhost",
    "evil.example#.localhost",
    "localhost:4566\n",
    "localhost:",
    "127.0.0.\u0661",  # an Arabic digit one
]


@pytest.mark.parametrize("host", ANSWERED)
def test_names_of_this_machine_are_accepted(host: str) -> None:
    assert refusal("http", FUNCTIONS, headers_of(("host", host))) is None


@pytest.mark.parametrize("host", REFUSED)
def test_no_other_name_is_accepted(host: str) -> None:
    assert refusal("http", FUNCTIONS, headers_of(("host", host))) == WRONG_HOST


def test_a_request_must_name_its_host_exactly_once() -> None:
    assert refusal("http", API, []) == WRONG_HOST
    assert refusal("http", API, headers_of(("host", HOST), ("Host", HOST))) == WRONG_HOST


# Headers that a browser adds. Each of them reveals a browser.
MARKS = [
    [("origin", "https://evil.example")],
    [("Origin", "https://evil.example")],
    [("origin", "null")],  # a sandboxed frame, a file, a redirect
    [("origin", "")],
    [("origin", f"http://{HOST}")],  # only APIs have pages
    [("origin", f"http://{HOST}"), ("sec-fetch-site", "same-origin")],
    [("sec-fetch-site", "cross-site")],  # a form, a frame, an image, a link of another page
    [("sec-fetch-site", "same-site")],  # a page of this machine, at another port
    [("sec-fetch-site", "same-origin")],
    [("sec-fetch-site", "none")],  # a link in a mail, and where it was redirected to
    [("SEC-FETCH-SITE", "none")],
    [("sec-fetch-site", "")],
    [("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")],
    [("user-agent", "Mozilla/5.0 (X11; Linux x86_64)")],  # an old browser, and an image
    [("user-agent", "curl/8"), ("user-agent", "Mozilla/5.0")],
]
# Addresses that are no deployed API: the host, the path.
ELSEWHERE = [
    (HOST, "/"),
    (HOST, FUNCTIONS),
    (HOST, "/bucket/key"),
    (HOST, "/_ministack/reset"),
    (HOST, "/_aws/lambda-url/0123abcd/"),
    (HOST, "/restapis/0123abcd/prod/_user_request_/"),
    (HOST, "/_aws/execute-api"),
    (HOST, "/_aws/execute-api/0123abcd"),  # the emulator reads from headers which service this is
    (HOST, "/_aws/execute-api//v1/jobs"),
    (HOST, "//_aws/execute-api/0123abcd/v1/jobs"),
    (HOST, f"/bucket{API}"),
    (HOST, f"http://{HOST}{API}"),  # the absolute form, which the emulator takes for a path
    (HOST, API.upper()),
    ("bucket.localhost:4566", API),  # the emulator tries S3 first
    ("e1.cloudfront.localhost", API),
    ("LOCALHOST:4566", API),  # no browser writes it so
    (API_HOST.upper(), "/v1/jobs"),  # the emulator takes that for a bucket
    ("0123abc.execute-api.localhost", "/v1/jobs"),
    ("x.0123abcd.execute-api.localhost", "/v1/jobs"),
    # Paths that the emulator handles itself under any host.
    (API_HOST, "/_ministack/reset"),
    (API_HOST, "/_localstack/health"),
    (API_HOST, "/health"),
    (API_HOST, "/v20180820/accesspoint"),
    (API_HOST, "/iceberg/v1/config"),
    (API_HOST, "/v2/email/outbound-emails"),
    (API_HOST, "/v2/repository/manifests/latest"),
    (API_HOST, "/oauth2/authorize"),
    (API_HOST, "/login"),
    (API_HOST, "/logout"),
    (API_HOST, "/Execute"),
    (API_HOST, "/BatchExecute"),
    (API_HOST, "/WriteGetObjectResponse"),
    (API_HOST, "/pool/.well-known/jwks.json"),
]


@pytest.mark.parametrize("marks", MARKS)
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_a_browser_reaches_nothing_but_an_api(kind: str, marks: list[tuple[str, str]]) -> None:
    refused = [
        place for place in ELSEWHERE if refusal(kind, place[1], headers_of(("host", place[0]), *marks)) == BROWSER
    ]
    assert refused == ELSEWHERE


# Requests to an API at 127.0.0.1:4566.
TO_API: list[list[tuple[str, str]]] = [
    [],
    [("user-agent", "Mozilla/5.0")],
    [("sec-fetch-site", "none")],  # an address that was typed, or opened from outside the browser
    [("sec-fetch-site", "same-origin")],  # its own page reads
    [("sec-fetch-site", "same-origin"), ("origin", f"http://{HOST}")],  # its own page writes
]
NOT_TO_API = [
    [("origin", f"http://{HOST}")],  # every browser that knows Sec-Fetch-Site sends it
    [("sec-fetch-site", "none"), ("origin", f"http://{HOST}")],
    [("sec-fetch-site", "same-origin"), ("origin", f"https://{HOST}")],
    [("sec-fetch-site", "same-origin"), ("origin", "http://127.0.0.1:4567")],
    [("sec-fetch-site", "same-origin"), ("origin", "http://127.0.0.1")],
    [("sec-fetch-site", "same-origin"), ("origin", f"http://{HOST}.evil.example")],
    [("sec-fetch-site", "same-origin"), ("origin", "null")],
    [("sec-fetch-site", "same-origin"), ("origin", f"http://{HOST}"), ("origin", "http://evil.example")],
    [("sec-fetch-site", "same-site")],
    [("sec-fetch-site", "cross-site")],
    [("sec-fetch-site", "cross-site"), ("origin", f"http://{HOST}")],
    [("sec-fetch-site", "Same-Origin")],
    [("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")],
    [("sec-fetch-site", "same-origin, cross-site")],
]


def refusals(marks: list[tuple[str, str]]) -> set[str | None]:
    """Return an API's refusals of a request, addressed by its path and by its host."""
    by_host = [(name, value.replace(HOST, API_HOST)) for name, value in marks]
    return {
        refusal("http", API, headers_of(("host", HOST), *marks)),
        refusal("http", "/v1/jobs", headers_of(("host", API_HOST), *by_host)),
    }


@pytest.mark.parametrize("marks", TO_API)
def test_an_api_accepts_its_own_page_and_a_typed_address(marks: list[tuple[str, str]]) -> None:
    assert refusals(marks) == {None}


@pytest.mark.parametrize("marks", NOT_TO_API)
def test_an_api_refuses_every_other_page(marks: list[tuple[str, str]]) -> None:
    assert refusals(marks) == {BROWSER}


def test_an_api_opens_no_websocket_to_a_page_of_its_own() -> None:
    own = [("origin", f"http://{HOST}"), ("sec-fetch-site", "same-origin")]
    assert refusal("websocket", API, headers_of(("host", HOST), *own)) == BROWSER


@pytest.mark.parametrize("run_id", [("timeball-run-id", "j.1.s"), ("Timeball-Run-Id", "")])
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_a_webhook_reaches_nothing_but_an_api(kind: str, run_id: tuple[str, str]) -> None:
    # A tenant chooses its job's headers freely, even those of an AWS tool.
    tool = [("user-agent", "Boto3/1.44"), ("x-amz-target", "secretsmanager.GetSecretValue"), ("authorization", "AWS4")]
    refused = [
        place
        for place in ELSEWHERE
        if refusal(kind, place[1], headers_of(("host", place[0]), *tool, run_id)) == WEBHOOK
    ]
    assert refused == ELSEWHERE


def test_a_webhook_reaches_an_api_by_its_path_and_by_its_host() -> None:
    run_id = ("timeball-run-id", "j.1.s")
    assert refusals([run_id]) == {None}
    assert refusals([run_id, ("user-agent", "Mozilla/5.0")]) == {None}
    assert refusals([run_id, ("origin", "https://evil.example")]) == {BROWSER}
    assert refusal("websocket", API, headers_of(("host", HOST), run_id)) == WEBHOOK


@pytest.mark.parametrize("agent", ["Boto3/1.44", "aws-sdk-js/3 aws-cdk", "curl/8", "Python-urllib/3.11", ""])
@pytest.mark.parametrize("path", ["/", FUNCTIONS, API, "/_ministack/health"])
def test_a_tool_reaches_everything(agent: str, path: str) -> None:
    assert refusal("http", path, headers_of(("host", HOST), ("user-agent", agent))) is None
    assert refusal("websocket", path, headers_of(("host", HOST), ("user-agent", agent))) is None


def run(scope: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Return the scopes that the shield passes to the application, and the messages that are sent."""
    reached: list[Any] = []
    sent: list[Any] = []

    async def application(scope: Any, _receive: Any, _send: Any) -> None:
        reached.append(scope)

    async def receive() -> Any:
        raise AssertionError("a refused request is not read")

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(shielded(application)(scope, receive, send))
    return reached, sent


@pytest.mark.parametrize(("kind", "answer"), [("http", "http"), ("websocket", "websocket.http")])
def test_a_refusal_is_a_403_without_a_header_of_cors(kind: str, answer: str) -> None:
    headers = headers_of(("host", HOST), ("origin", "https://evil.example"))
    reached, (start, body) = run({"type": kind, "method": "OPTIONS", "path": API, "headers": headers})
    assert reached == []
    assert (start["type"], start["status"]) == (f"{answer}.response.start", 403)
    assert [name for name, _ in start["headers"]] == [b"content-type", b"content-length"]
    assert body == {"type": f"{answer}.response.body", "body": f"{BROWSER}\n".encode()}


def test_allowed_requests_and_lifespan_events_reach_the_emulator_unchanged() -> None:
    scopes: list[dict[str, Any]] = [
        {"type": "lifespan"},
        {"type": "http", "path": "/", "headers": headers_of(("host", HOST))},
    ]
    for scope in scopes:
        assert run(scope) == ([scope], [])
