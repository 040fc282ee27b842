"""`timeball dev`, where it cannot run: one sentence says what to do. It runs in tests/end_to_end."""

from pathlib import Path

import pytest

from tests.cli.commands import timeball
from timeball.dev.installation import InstallationError, installed
from timeball.dev.stage import silently


def test_a_clone_without_the_parts_of_a_wheel_is_sent_to_make_run(tmp_path: Path) -> None:
    done = timeball(["dev"], {"XDG_CACHE_HOME": str(tmp_path)})
    assert (done.status, done.stdout) == (1, "")
    assert "runs from a wheel. In a clone run `make run`." in done.stderr


def test_the_help_says_what_a_kill_loses() -> None:
    assert "A kill loses the last minute at most." in " ".join(timeball(["dev", "--help"]).stdout.split())


def test_an_unfinished_installation_is_made_again(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "emulator.txt").write_text("no-such-package==0 --hash=sha256:00\n")
    for _ in range(2):
        with pytest.raises(InstallationError, match="the next start tries again"):
            installed(tmp_path / "cache", silently, parts)
    assert not [*(tmp_path / "cache").glob("*/complete")]
