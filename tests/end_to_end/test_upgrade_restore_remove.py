"""The commands of docs/how-to: upgrade.md, restore.md and remove.md, pasted in this order into one account's shell.

The embedded AWS restores a table as it is now, so rows are deleted from the restored table as if they were lost. It has
no CodeDeploy: a gradual rollout is only looked at.
"""

import re
import sys
from collections.abc import Iterator

import pytest

from local.demo_client import ApiClient
from local.installed import EMULATOR
from local.receiver import Receiver
from tests.docs.readme import ROOT, shell_blocks
from tests.end_to_end.reader import NEWS, Reader
from tests.end_to_end.steps import ask, until
from timeball.dev.emulator import Emulator
from timeball.domain.time.instants import parse_instant

pytestmark = [pytest.mark.xdist_group("upgrade_restore_remove"), pytest.mark.more]

EACH_SECONDS = 5


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    folder = tmp_path_factory.mktemp("reader")
    with Emulator(folder, EMULATOR) as emulator:
        emulator.await_health()
        reader = Reader(emulator, folder)
        reader.prepare()
        reader.deploy()
        yield reader


@pytest.fixture(scope="module")
def client(reader: Reader) -> Iterator[ApiClient]:
    """Return a client, after it has made a job that runs all the time."""
    client = ApiClient(reader.api_url, reader.key)
    with Receiver() as receiver:
        job = {"handler": f"{receiver.url}/ok", "everySeconds": EACH_SECONDS, "catchUp": {"policy": "all"}}
        ask(client, "PUT", "/v1/jobs/steady", job)
        yield client


def _page(name: str) -> list[str]:
    blocks = shell_blocks(ROOT / f"docs/how-to/{name}.md")
    assert blocks
    return blocks


def _fires(client: ApiClient, job_id: str) -> list[int]:
    """Return the fire times of a job that have a row, the earliest first. A row of skipped fires may have several."""
    runs = client.get(f"/v1/jobs/{job_id}/runs", limit=200)["items"]
    first = {parse_instant(run["fireTime"]): run["count"] for run in runs}
    return sorted(at + EACH_SECONDS * 1000 * fire for at, count in first.items() for fire in range(count))


def test_upgrade(reader: Reader, client: ApiClient) -> None:
    outputs, code = dict(reader.outputs), reader.code_of("scan")
    read, look, deploy, verify, back, gradual = _page("upgrade")
    say = 'echo; echo "CODE $(aws lambda get-function-configuration --function-name Timeball-scan --query CodeSha256)"'
    seen = reader.paste(read, look, deploy, verify, say, back, say, gradual)

    assert f"+{NEWS}" in seen
    assert seen.replace(" ", "").count('{"status":"ok"}') == 2
    newer, after = re.findall(r"^CODE (.+)$", seen, re.MULTILINE)
    assert (newer != code, after) == (True, code)
    assert reader.stack_outputs() == outputs
    assert ask(client, "GET", "/v1/jobs/steady")["jobId"] == "steady"


def test_restore(reader: Reader, client: ApiClient) -> None:
    until(lambda: len(_fires(client, "steady")) >= 3)
    stop, restore, stream, deploy, freeze, recover, lift = _page("restore")[-7:]
    lost = f"{sys.executable} -m tests.end_to_end.lose_rows timeball-jobs-restored steady"
    lose = f"(cd {ROOT} && {lost})"
    seen = reader.paste(stop, restore, stream, lose, deploy, freeze, recover, lift, PYTHONPATH=str(ROOT))

    assert "lost 3" in seen
    before = max(_fires(client, "steady"))
    until(lambda: max(_fires(client, "steady")) > before)
    fires = _fires(client, "steady")
    assert fires == [*range(fires[0], fires[-1] + 1, EACH_SECONDS * 1000)]  # each instant has one row again
    assert reader.stack_outputs()["JobsTable"] == "timeball-jobs-restored"


def test_remove(reader: Reader, client: ApiClient) -> None:
    event = {"handler": "https://example.com/hook", "event": {"source": ["shop"]}}
    ask(client, "PUT", "/v1/jobs/on-orders", event)
    names, stop, remove, stays, delete = _page("remove")
    seen = reader.paste(names, stop, remove, "echo STAYS", stays, "echo GONE", delete, stays)

    _, _, after = seen.partition("STAYS")
    kept, _, left = after.partition("GONE")
    tables = {"timeball-jobs-restored", reader.outputs["TenantsTable"], reader.outputs["JobsTable"]}
    assert tables <= {*kept.split()}
    assert reader.outputs["FirstKeyParameter"] in kept
    assert tables & {*left.split()} == {reader.outputs["JobsTable"]}  # the one that the restored table replaced
    assert reader.outputs["FirstKeyParameter"] not in left
    stacks = reader.emulator.client("cloudformation").list_stacks()["StackSummaries"]
    assert [one["StackStatus"] for one in stacks if one["StackName"] == "Timeball"] == ["DELETE_COMPLETE"]
    assert not reader.emulator.client("lambda").list_functions()["Functions"]
