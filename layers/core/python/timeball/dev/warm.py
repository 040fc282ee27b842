"""Call each function once, so that the first job does not wait until a process has started.

This is also a check: a function that cannot be imported, or lacks a permission at its start, fails here.
"""

import base64
import http.client
import json
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from timeball.dev.deployment import DeployedStack
from timeball.dev.emulator import Emulator

_NOTHING_TO_DO = {
    "authorize": {"headers": {}},
    "execute-high": {"Records": []},
    "execute-normal": {"Records": []},
    "execute-low": {"Records": []},
}

_AT_ONCE = {"execute-normal": 5}
"""The number of batches that the emulator hands out at a time: a process takes seconds to start, too long for a burst.
"""

_PATIENCE_SECONDS = 60
_PAUSE_SECONDS = 0.3


class FunctionFailedError(RuntimeError):
    """A function fails although it has nothing to do."""


def warm(emulator: Emulator, deployment: DeployedStack) -> None:
    """Call each function that others wait for; raise `FunctionFailedError` if one of them fails."""
    client = emulator.client("lambda")

    def call(name: str) -> None:
        answer = client.invoke(
            FunctionName=f"{deployment.name}-{name}",
            Payload=json.dumps(_NOTHING_TO_DO[name]),
            LogType="Tail",
        )
        if "FunctionError" in answer:
            log = base64.b64decode(answer.get("LogResult", "")).decode()
            raise FunctionFailedError(f"{log}\nthe function {name} fails: {answer['Payload'].read().decode()}")

    with ThreadPoolExecutor(max_workers=16) as pool:
        api = pool.submit(_ask_root, deployment.api_url)
        list(pool.map(call, [name for name in _NOTHING_TO_DO for _ in range(_AT_ONCE.get(name, 1))]))
        api.result()


def await_health(api_url: str) -> None:
    """Return when the health page says that the ticker ticks; raise `FunctionFailedError` if it does not come to it."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while (answer := _get(api_url, "/healthz"))[0] != http.HTTPStatus.OK:
        if time.monotonic() > until:
            raise FunctionFailedError(f"the health page answers {answer[0]}: {answer[1]}")
        time.sleep(_PAUSE_SECONDS)


def _ask_root(api_url: str) -> None:
    """Ask for the page that needs nothing else: the ticker begins later."""
    status, text = _get(api_url, "/")
    if status != http.HTTPStatus.OK:
        raise FunctionFailedError(f"the API answers {status}: {text}")


def _get(api_url: str, path: str) -> tuple[int, str]:
    url = urlsplit(api_url)
    connection = http.client.HTTPConnection(url.netloc)
    try:
        connection.request("GET", f"{url.path}{path}")
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()
