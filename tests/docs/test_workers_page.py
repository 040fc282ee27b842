"""The worker in docs/reference/workers.md is as short as the page says, and repeats reports that may not have arrived.

tests/end_to_end/test_workers.py shows the other claims of the page on the embedded AWS.
"""

import http.client
import re
import urllib.error
from email.message import Message
from types import SimpleNamespace
from typing import Any

import pytest

from tests.contract.backends import DUMMY, REGION
from tests.docs.readme import ROOT, read

PAGE = read(ROOT / "docs/reference/workers.md")
(SOURCE,) = re.findall(r"^<!-- example: worker -->\n```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
FACTS = {"Timeball-Run-Id": "run", "Timeball-Attempt": "2", "Timeball-Callback-Token": "tba_x"}


def refused(status: int) -> urllib.error.HTTPError:
    return urllib.error.HTTPError("http://api", status, "", Message(), None)


class Scene:
    """A worker that meets the answers that a test gives; `did` lists its actions in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        environment = {"API": "http://api", "QUEUE_URL": "queue", "AWS_DEFAULT_REGION": REGION}
        for name, value in {**environment, **{name.upper(): value for name, value in DUMMY.items()}}.items():
            monkeypatch.setenv(name, value)
        self.did: list[str] = []
        self._worker: dict[str, Any] = {}
        until_it_works = SOURCE.partition("\n\n\nwhile True:")[0]
        exec(compile(until_it_works, "docs/reference/workers.md", "exec"), self._worker)  # noqa: S102 - code of our own page
        self._worker["sqs"] = SimpleNamespace(change_message_visibility=lambda **_: self.did.append("hide"))
        monkeypatch.setattr("time.sleep", lambda seconds: self.did.append(f"wait {seconds}"))
        monkeypatch.setattr("urllib.request.urlopen", self._answer)

    def tell(self, *answers: Exception | int) -> Any:
        self.answers = [*answers]
        return self._worker["tell"](FACTS, {}, "complete", result=7)

    def _answer(self, request: Any, timeout: float) -> Any:
        assert (request.full_url, request.data, timeout) == (
            "http://api/v1/runs/run/complete",
            b'{"attempt": 2, "result": 7}',
            30,
        )
        self.did.append("tell")
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return SimpleNamespace(status=answer)


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    return Scene(monkeypatch)


def test_it_has_as_many_lines_as_the_page_says() -> None:
    assert f"in {len([line for line in SOURCE.splitlines() if line])} lines" in PAGE


@pytest.mark.parametrize(
    "trouble",
    [
        refused(429),
        refused(500),
        refused(503),
        urllib.error.URLError("no connection"),
        TimeoutError("slow"),
        ConnectionResetError("reset"),
        http.client.RemoteDisconnected("unheard"),
    ],
    ids=repr,
)
def test_it_repeats_a_report_that_may_not_have_arrived_and_hides_the_message_meanwhile(
    scene: Scene, trouble: Exception
) -> None:
    assert scene.tell(trouble, trouble, 200)
    assert scene.did == ["hide", "tell", "wait 1"] * 2 + ["hide", "tell"]


@pytest.mark.parametrize("status", [400, 409, 413])
def test_it_repeats_no_report_that_was_refused(scene: Scene, status: int) -> None:
    assert not scene.tell(refused(status))
    assert scene.did == ["hide", "tell"]


@pytest.mark.parametrize("status", [401, 403, 404])
def test_it_ends_at_a_wrong_address_or_token_and_leaves_the_message(scene: Scene, status: int) -> None:
    with pytest.raises(urllib.error.HTTPError):
        scene.tell(refused(status))
    assert scene.did == ["hide", "tell"]
