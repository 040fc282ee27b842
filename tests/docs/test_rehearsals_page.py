"""The blocks of the page about tests of one's own schedules, pasted into files of their names, and run."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "test-your-schedules.md"


def test_the_blocks_of_the_page_run_as_they_stand(tmp_path: Path) -> None:
    blocks = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
    assert len(blocks) == PAGE.read_text(encoding="utf-8").count("```python")
    for name, text in blocks.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-markers", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "7 passed" in done.stdout
    printed = subprocess.run([sys.executable, "rehearse.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert printed.stdout.splitlines() == [
        "nightly-report 2027-10-30 02:00 200",
        "nightly-report 2027-10-31 02:00 200",
        "nightly-report 2027-11-01 02:00 200",
    ]
