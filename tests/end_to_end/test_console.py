"""The console on the embedded AWS: its files, its login by a link, its addresses in answers, behind the shield."""

import json
import re
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest

from local.demo_client import ApiClient
from timeball.console.serving import HEADERS
from timeball.dev.stage import Stage, console_link

pytestmark = pytest.mark.xdist_group("end_to_end")

AGENT = {"User-Agent": "Mozilla/5.0", "Accept-Encoding": "gzip"}
FOLLOWED, OF_THE_PAGE = {"Sec-Fetch-Site": "none"}, {"Sec-Fetch-Site": "same-origin"}


def get(url: str, headers: dict[str, str]) -> tuple[int, Any, bytes]:
    """Return the status, the headers and the body of what a browser gets."""
    request = urllib.request.Request(url, headers={**AGENT, **headers})  # noqa: S310 - our own API
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.headers, refused.read()


@pytest.mark.parametrize("path", ["/console", "/console/"])
def test_a_browser_loads_the_pages_and_each_file_that_they_name(stage: Stage, path: str) -> None:
    url = stage.deployment.api_url + path
    request = urllib.request.Request(url, headers={"User-Agent": "Mozilla/5.0", **FOLLOWED})  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        index = answer.read().decode()
        assert HEADERS.items() <= dict(answer.headers).items()
    named = re.findall('(?:href|src)="([^"#]+[.](?:css|js|svg))"', index)
    assert any(name.endswith(".js") for name in named)
    for name in named:
        status, headers, _ = get(urljoin(url, name), OF_THE_PAGE)
        assert status == 200, name
        assert "immutable" in headers["Cache-Control"]
        assert headers["Content-Encoding"] == "gzip"
    assert get(urljoin(url, f"{named[0]}x"), OF_THE_PAGE)[0] == 404


def test_the_printed_link_begins_a_session_once(stage: Stage) -> None:
    address, _, code = console_link(stage.deployment.api_url, stage.key).partition("#s=")
    assert address == f"{stage.deployment.api_url}/console"
    parts = urlsplit(address)
    headers = {**AGENT, **OF_THE_PAGE, "Origin": f"{parts.scheme}://{parts.netloc}", "Content-Type": "application/json"}
    body = json.dumps({"code": code}).encode()
    request = urllib.request.Request(f"{stage.deployment.api_url}/v1/sessions", body, headers)  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        session = ApiClient(stage.deployment.api_url, json.load(answer)["key"])
    assert session.get("/v1/me")["role"] == "viewer"
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(request, timeout=60)  # noqa: S310


def test_answers_name_addresses_at_which_the_console_is(client: ApiClient, stage: Stage) -> None:
    job = client.create({"handler": "https://example.com/hook", "everySeconds": 86_400})
    assert job["consoleUrl"] == f"{stage.deployment.api_url}/console/#/jobs/{job['jobId']}"
    assert get(job["consoleUrl"], FOLLOWED)[0] == 200
