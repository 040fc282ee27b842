"""The plugin of pytest, and what a rehearsal imports: in processes of their own."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("boto3", "botocore", "pycurl"):
            raise ImportError(name)

sys.meta_path.insert(0, Refuse())
from timeball.client import Every, Job
from timeball.rehearsal import Rehearsal

with Rehearsal() as rehearsal:
    rehearsal.client.jobs.put("hello", Job(call="https://app.example", when=Every(60)))
    rehearsal.answers("https://app.example", 200)
    print(len(rehearsal.run_for(minutes=10)), sorted({"boto3", "botocore", "pycurl"} & {*sys.modules}))
"""

USERS_TEST = """
import pytest
from timeball.client import Cron, Job

@pytest.mark.timeball(start="2027-03-27 12:00", tz="Europe/Berlin")
def test_my_schedules(timeball):
    timeball.client.jobs.put("report", Job(call="https://app.example", when=Cron("0 2 * * *", "Europe/Berlin")))
    timeball.answers("https://app.example", [500, 200])
    calls = timeball.run_until("2027-03-29 06:00")
    assert calls.of("report").local() == ["2027-03-28 03:00", "2027-03-29 02:00"]

@pytest.mark.timeball(begin="2027-03-27")
def test_with_a_marker_that_says_nothing(timeball):
    pass

@pytest.mark.timeball(start="soon")
def test_that_begins_soon(timeball):
    pass
"""


def test_a_rehearsal_imports_neither_boto3_nor_botocore() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout == "11 []\n"


def test_the_plugin_imports_nothing_of_a_rehearsal_before_a_test_asks_for_it() -> None:
    script = "import sys, timeball.rehearsal.plugin; print([name for name in sys.modules if 'timeball' in name])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "['timeball', 'timeball.rehearsal', 'timeball.rehearsal.plugin']\n"


def run_pytest(python: str, folder: Path) -> str:
    (folder / "test_mine.py").write_text(USERS_TEST, encoding="utf-8")
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-markers", "test_mine.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


def test_a_users_test_has_the_fixture_and_its_marker(tmp_path: Path) -> None:
    said = run_pytest(sys.executable, tmp_path)
    assert "1 passed, 2 errors" in said
    assert "The marker timeball takes start, tz and tenant, each by its name." in said
    assert "'soon' is no time" in said


@pytest.mark.more
def test_a_wheel_in_an_empty_environment_brings_the_plugin_and_the_command(tmp_path: Path) -> None:
    uv = str(Path(sys.executable).with_name("uv"))
    subprocess.run([uv, "build", "--wheel", "--out-dir", str(tmp_path), str(ROOT)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("timeball-*.whl")
    subprocess.run([uv, "venv", "--python", sys.executable, str(tmp_path / "env")], check=True, capture_output=True)
    python = str(tmp_path / "env" / "bin" / "python")
    subprocess.run([uv, "pip", "install", "--python", python, f"{wheel}[test]"], check=True, capture_output=True)
    said = run_pytest(python, tmp_path)
    assert "1 passed, 2 errors" in said
    command = [str(tmp_path / "env" / "bin" / "timeball"), "--version"]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip().endswith("0.1.0")
    listed = subprocess.run([uv, "pip", "list", "--python", python], check=True, capture_output=True, text=True).stdout
    assert "boto" not in listed
