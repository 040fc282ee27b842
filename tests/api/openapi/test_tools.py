"""Tools that people use with OpenAPI documents accept docs/openapi.json, and what they make of it works.

`make test-all` installs them into tools/node_modules, and runs this file. tools/redocly.yaml says which rules are off.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext

from tests.api.client import Api, event_of
from timeball.testing.gateway import sent_body

pytestmark = pytest.mark.more

DOCUMENT = Path(__file__).parents[3] / "docs/openapi.json"
TOOLS = Path(__file__).with_name("tools")
NODE = Path(sys.executable).with_name("node")
KEY = "tb_of_a_client"


def run(program: str | Path, *arguments: str | Path, at: Path = TOOLS) -> str:
    """Run a program of Node; return what it prints. `program` is a file, or a path under node_modules."""
    path = program if isinstance(program, Path) else TOOLS / "node_modules" / program
    assert path.exists(), "Run `make test-all`, which installs the tools."
    quiet = {**os.environ, "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
    done = subprocess.run([NODE, path, *arguments], cwd=at, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def url(api: Api) -> Iterator[str]:
    """Serve the API over HTTP, with one key."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            tenant = "acme" if self.headers["Authorization"] == f"Bearer {KEY}" else None
            event = event_of(self.command, self.path, tenant, dict(self.headers), {})
            event["body"] = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
            answer = api.handle(event, LambdaContext())
            self.send_response(answer["statusCode"])
            for name, value in answer["headers"].items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(sent_body(answer))

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_redoclys_linter_finds_nothing() -> None:
    printed = run("@redocly/cli/bin/cli.js", "lint", "--config", TOOLS / "redocly.yaml", "--format", "json", DOCUMENT)
    found = json.loads(printed[printed.index("{") : printed.rindex("}") + 1])
    assert (found["totals"], found["problems"]) == ({"errors": 0, "warnings": 0, "ignored": 0}, [])


def test_a_typescript_client_creates_a_job_and_reads_it(url: str, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(TOOLS / "node_modules")
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    (tmp_path / "client.ts").write_bytes((TOOLS / "client.ts").read_bytes())
    run("openapi-typescript/bin/cli.js", DOCUMENT, "--output", tmp_path / "generated.ts", at=tmp_path)
    run("typescript/lib/tsc.js", "--strict", "--module", "nodenext", "--target", "es2022", "client.ts", at=tmp_path)
    printed = run(tmp_path / "client.js", url, KEY, at=tmp_path)
    assert json.loads(printed) == {"status": "pending", "problem": 404}


def test_the_request_that_postman_fills_in_creates_a_job(api: Api, tmp_path: Path) -> None:
    """Postman fills requests from the examples if its import setting *parameter generation* is *example*."""
    collection = tmp_path / "collection.json"
    options = ("-O", "parametersResolution=Example")
    run("openapi-to-postmanv2/bin/openapi2postmanv2.js", "-s", DOCUMENT, "-o", collection, *options)
    (request,) = _requests(json.loads(collection.read_text(encoding="utf-8")), "POST", ["v1", "jobs"])
    headers = {header["key"]: header["value"] for header in request["header"]}
    answer = api.call("POST", "/v1/jobs", raw=request["body"]["raw"].encode(), headers=headers)
    assert answer.status == 201, answer.text


def _requests(folder: Mapping[str, Any], method: str, path: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the requests of a collection, and of its folders, with a method and a path."""
    for item in folder.get("item", ()):
        request = item.get("request")
        if request and (request["method"], request["url"]["path"]) == (method, path):
            yield request
        yield from _requests(item, method, path)
