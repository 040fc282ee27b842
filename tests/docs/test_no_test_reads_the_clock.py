"""No test reads the machine's date, time of day, zone or speed: each file that does is listed, with its reason."""

import ast
from collections.abc import Iterator

import pytest

from tests.docs.readme import ROOT

ALLOWED = {
    "tests/conftest.py": "shows the tiers' processor time; mends the sleep of a machine whose time is faked",
    "tests/console/server.py": "follows the machine's clock when a person starts it",
    "tests/contract/test_executor_function.py": "shifts the real clock of the functions to the middle of an hour",
    "tests/effort.py": "compares processor time with a yardstick",
    "tests/docs/terminal.py": "waits for the servers and workers of a page, which are processes of their own",
    "tests/end_to_end/steps.py": "waits for other processes, which read the real clock",
    "tests/end_to_end/test_console_in_a_browser.py": "measures how long a newcomer waits for the first run",
    "tests/fuzz/__main__.py": "tells a person how long it took",
    "tests/local/test_receiver.py": "holds the instants that the real receiver notes",
    "tests/simulation/__main__.py": "tells a person how long it took",
    "tests/webhooks/test_floods.py": "counts the processor time of its own thread",
}

READING = {
    *((owner, name) for owner in ("datetime", "date", "dt") for name in ("now", "today", "utcnow")),
    *(("os", name) for name in ("times", "getloadavg")),
}
"""Calls that read a clock, by the last two names. An import of the module `time` is enough."""

LOCAL = {"fromtimestamp": 2, "astimezone": 1}
"""Methods that take the machine's zone, if they have fewer arguments than this."""


def readings(source: str) -> Iterator[str]:
    """Yield each line that reads the machine's clock, or its zone, or sleeps."""
    for node in ast.walk(ast.parse(source)):
        if _reads(node):
            yield f"line {getattr(node, 'lineno', 0)}: {ast.unparse(node)}"


def _reads(node: ast.AST) -> bool:
    match node:
        case ast.Import(names=names):
            return any(alias.name == "time" for alias in names)
        case ast.ImportFrom(module=module, names=names):
            return module == "time" or any(alias.name == "SystemClock" for alias in names)
        case ast.Call(func=ast.Attribute(value=ast.Name("asyncio"), attr="sleep"), args=[ast.Constant(0)]):
            return False  # it yields to other tasks
        case ast.Call(func=ast.Attribute(value=ast.Name("asyncio"), attr="sleep")):
            return True
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=args, keywords=keywords):
            is_local = name in LOCAL and len(args) + len(keywords) < LOCAL[name]
            return is_local or (ast.unparse(owner).rpartition(".")[2], name) in READING
        case _:
            return False


def test_no_test_reads_the_clock_of_its_machine_unless_it_is_listed() -> None:
    paths = (ROOT / "tests").rglob("*.py")
    found = {str(path.relative_to(ROOT)): [*readings(path.read_text())] for path in paths}
    reading = {name: lines for name, lines in found.items() if lines}
    assert {name: lines for name, lines in reading.items() if name not in ALLOWED} == {}
    assert ALLOWED.keys() - reading.keys() == set()


READ = {
    "import time": True,
    "from time import monotonic": True,
    "from timeball.runtime.clock import SystemClock": True,
    "datetime.now(UTC)": True,
    "datetime.datetime.now(UTC)": True,
    "date.today()": True,
    "datetime.fromtimestamp(0)": True,
    "datetime.fromtimestamp(0, UTC)": False,
    "moment.astimezone()": True,
    "moment.astimezone(UTC)": False,
    "asyncio.sleep(0)": False,
    "asyncio.sleep(0.1)": True,
    "clock.now()": False,
    "from datetime import time": False,
}


@pytest.mark.parametrize("source", READ)
def test_code_that_reads_a_clock_is_found(source: str) -> None:
    assert bool([*readings(source)]) is READ[source]
