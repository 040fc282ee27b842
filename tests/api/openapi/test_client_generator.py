"""A generator of clients accepts the whole document, and the generated client works against the API."""

import asyncio
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.client import Api
from tests.fuzz.gateway import KEY, gateway

DOCUMENT = Path(__file__).parents[3] / "docs/openapi.json"
GENERATOR = Path(sys.executable).with_name("openapi-python-client")
NAME = "generated_timeball_client"


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that imports a module of a freshly generated client; a warning of the generator is an error."""
    config = tmp_path / "config.yml"
    config.write_text("post_hooks: []\n", encoding="utf-8")
    command: list[str | Path] = [
        GENERATOR,
        "generate",
        "--path",
        DOCUMENT,
        "--output-path",
        tmp_path / NAME,
        "--config",
        config,
    ]
    done = subprocess.run(
        [*command, "--meta", "none", "--fail-on-warning"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    monkeypatch.syspath_prepend(tmp_path)
    yield lambda module: import_module(f"{NAME}.{module}")
    for module in [name for name in sys.modules if name.split(".")[0] == NAME]:
        del sys.modules[module]


def test_a_generated_client_creates_a_job_and_reads_it(calls: Any, api: Api) -> None:
    transport = httpx.ASGITransport(app=gateway(api, lambda: None))
    client = calls("client").AuthenticatedClient(
        "https://timeball.example", token=KEY, httpx_args={"transport": transport}
    )
    wanted = calls("models").JobRequest(handler="https://example.com/hook", cron_expression="0 9 * * MON-FRI")

    async def create_and_read() -> tuple[Any, Any, Any]:
        created = await calls("api.jobs.create_job").asyncio(client=client, body=wanted, idempotency_key="one")
        read = await calls("api.jobs.get_job").asyncio(created.job_id, client=client)
        none = await calls("api.jobs.get_job").asyncio("none", client=client)
        return created, read, none

    created, read, none = asyncio.run(create_and_read())
    assert (read.job_id, read.status.value) == (created.job_id, "pending")
    assert read.next_run_at == created.next_run_at
    assert (none.status, none.title) == (404, "There is no such resource")
