"""A web page can read nothing from the embedded AWS, except from an API that serves that page itself."""

import http.client
import json
import socket
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from local.demo_client import ApiClient
from tests.end_to_end.emulated import listeners_of
from tests.end_to_end.steps import called
from timeball.dev.inside.shield import BROWSER, WEBHOOK, WRONG_HOST
from timeball.dev.stage import Stage

pytestmark = pytest.mark.xdist_group("end_to_end")

EVIL = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
PREFLIGHT = {**EVIL, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
# Opening this URL creates a function with a stranger's code and a role of the stranger's choice.
LINK = "/?" + urlencode(
    {
        "Action": "CreateStack",
        "Version": "2010-05-15",
        "StackName": "evil",
        "TemplateBody": json.dumps({"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}),
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Credential": "test/20260101/us-east-1/cloudformation/aws4_request",
        "X-Amz-Date": "20260101T000000Z",
        "X-Amz-SignedHeaders": "host",
        "X-Amz-Signature": "none",
    }
)


def signed_for(service: str) -> dict[str, str]:
    """Return headers with the credentials that the emulator accepts from any caller."""
    credential = f"test/20260101/us-east-1/{service}/aws4_request"
    return {"Authorization": f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature=none"}


# The method, the path, the headers that a script or a form would add.
SERVICES: list[tuple[str, str, dict[str, str]]] = [
    ("GET", "/2015-03-31/functions", signed_for("lambda")),
    ("POST", "/2015-03-31/functions/timeball-local-scan/invocations", signed_for("lambda")),
    ("GET", "/", signed_for("s3")),
    ("PUT", "/evil-bucket", signed_for("s3")),
    ("POST", "/", {**signed_for("sqs"), "X-Amz-Target": "AmazonSQS.ListQueues"}),
    ("POST", "/", {**signed_for("dynamodb"), "X-Amz-Target": "DynamoDB_20120810.ListTables"}),
    ("POST", "/_aws/execute-api/x", {**signed_for("sqs"), "X-Amz-Target": "AmazonSQS.ListQueues"}),
    ("GET", LINK, {}),
    ("GET", "/_ministack/health", {}),
    ("POST", "/_ministack/config", {}),
]


def send(stage: Stage, method: str, path: str, headers: dict[str, str]) -> tuple[int, str]:
    """Return the status and the text of an answer, and assert that no other page may read it."""
    connection = http.client.HTTPConnection(urlsplit(stage.emulator.endpoint).netloc, timeout=30)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        assert not [name for name in answer.headers if name.lower().startswith("access-control-")]
        return answer.status, answer.read().decode().strip()
    finally:
        connection.close()


def send_raw(stage: Stage, request: str) -> tuple[int, str]:
    """Return the status and the text of the answer to a request that no library would send."""
    url = urlsplit(stage.emulator.endpoint)
    with socket.create_connection((url.hostname, url.port), timeout=30) as connection:
        connection.sendall(request.replace("\n", "\r\n").encode())
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        return answer.status, answer.read().decode().strip()


@pytest.mark.parametrize("page", [EVIL, {"Origin": "null"}, {"Sec-Fetch-Site": "none"}, {"User-Agent": "Mozilla/5.0"}])
def test_no_page_or_link_reaches_a_service(stage: Stage, page: dict[str, str]) -> None:
    for method, path, headers in SERVICES:
        assert send(stage, method, path, {**headers, **page}) == (403, BROWSER), path
        assert send(stage, "OPTIONS", path, {**PREFLIGHT, **page}) == (403, BROWSER), path
    assert "evil-bucket" not in [bucket["Name"] for bucket in stage.emulator.client("s3").list_buckets()["Buckets"]]
    assert "evil" not in [
        stack["StackName"] for stack in stage.emulator.client("cloudformation").describe_stacks()["Stacks"]
    ]


def test_no_webhook_of_a_tenant_reads_a_secret_or_a_table(client: ApiClient, stage: Stage) -> None:
    for service, target in (
        ("secretsmanager", "secretsmanager.ListSecrets"),
        ("dynamodb", "DynamoDB_20120810.ListTables"),
    ):
        headers = {**signed_for(service), "X-Amz-Target": target, "User-Agent": "Boto3/1.44"}
        webhook = {"type": "http", "url": f"{stage.emulator.endpoint}/", "headers": headers}
        (attempt,) = called(client, webhook, "failed", payload={}, maxRetries=0)["attempts"]
        assert (attempt["httpStatus"], attempt["body"].strip()) == (403, WEBHOOK)
    page = {"type": "http", "method": "GET", "url": f"{stage.deployment.api_url}/healthz"}
    assert called(client, page)["attempts"][0]["httpStatus"] == 200  # as in the first job of the README


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.", "[::1]"])
def test_a_foreign_host_name_that_resolves_to_this_machine_gets_no_answer(stage: Stage, host: str) -> None:
    for method, path, headers in SERVICES:
        assert send(stage, method, path, {**headers, "Host": host}) == (403, WRONG_HOST), path
    assert send(stage, "GET", f"{urlsplit(stage.deployment.api_url).path}/healthz", {"Host": host}) == (403, WRONG_HOST)


def test_the_api_answers_its_own_page_and_no_other_page(stage: Stage) -> None:
    endpoint, path = urlsplit(stage.emulator.endpoint), urlsplit(stage.deployment.api_url).path
    by_host = f"{path.rpartition('/')[2]}.execute-api.localhost:{endpoint.port}"
    for host, prefix in ((endpoint.netloc, path), (by_host, "")):
        own = {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin", "User-Agent": "Mozilla/5.0"}
        typed = {"Host": host, "Sec-Fetch-Site": "none", "User-Agent": "Mozilla/5.0"}
        assert send(stage, "GET", f"{prefix}/healthz", typed)[0] == 200
        assert send(stage, "GET", f"{prefix}/healthz", own)[0] == 200
        assert send(stage, "GET", f"{prefix}/v1/dead-letters", own)[0] == 401
        with_key = {**own, "Authorization": f"Bearer {stage.key}"}
        assert send(stage, "GET", f"{prefix}/v1/dead-letters", with_key)[0] == 200
        for page in (EVIL, {"Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-site"}):
            assert send(stage, "GET", f"{prefix}/healthz", {**own, **page}) == (403, BROWSER)
            assert send(stage, "OPTIONS", f"{prefix}/v1/jobs", {**own, **PREFLIGHT, **page}) == (403, BROWSER)
        assert send(stage, "GET", "/_ministack/health", own) == (403, BROWSER)


WEBSOCKET = (
    "GET /_aws/execute-api/x/y HTTP/1.1\nHost: localhost\nConnection: Upgrade\nUpgrade: websocket\n"
    "Sec-WebSocket-Version: 13\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\n"
    "Origin: http://localhost\nSec-Fetch-Site: same-origin\n\n"
)
# A request that libraries do not send, and its answer.
ODD = [
    ("GET / HTTP/1.0\n\n", (403, WRONG_HOST)),
    ("GET / HTTP/1.1\n\n", (400, "")),
    ("GET / HTTP/1.1\nHost: localhost\nHost: localhost\n\n", (400, "")),
    ("GET http://localhost/_ministack/health HTTP/1.1\nHost: evil.example\n\n", (403, WRONG_HOST)),
    ("GET /_ministack/health HTTP/1.1\nHost: localhost\noRIGIN: null\n\n", (403, BROWSER)),
    (WEBSOCKET, (403, BROWSER)),
]


@pytest.mark.parametrize(("request_text", "expected"), ODD)
def test_odd_requests_are_refused_too(stage: Stage, request_text: str, expected: tuple[int, str]) -> None:
    assert send_raw(stage, request_text) == expected


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux lists the listening addresses of processes")
def test_the_emulator_listens_only_at_its_one_address(stage: Stage) -> None:
    assert listeners_of(stage) == [f"127.0.0.1:{urlsplit(stage.emulator.endpoint).port}"]
