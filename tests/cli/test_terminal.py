"""The command line on a real terminal: it asks, hides the key that is typed, and draws a table."""

import errno
import os
import pty
import subprocess
import sys
from pathlib import Path

from tests.console.server import ConsoleServer


def test_a_person_logs_in_and_lists_jobs_on_a_terminal(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "TERM": "xterm-256color", "COLUMNS": "120"}
    with ConsoleServer() as server:
        server.send("PUT", "/v1/jobs/nightly", {"handler": "https://shop.example/x", "cronExpression": "0 2 * * *"})
        key = server.keys["viewer"]
        seen = on_a_terminal(["login"], environment, [("URL of the API: ", server.base), ("API key", key)])
        listed = on_a_terminal(["job", "list"], environment, [])
        refused = on_a_terminal(["job", "delete", "nightly"], environment, [("[y/N] ", "n")])
    assert "viewer" in seen
    assert key not in seen
    assert "\x1b[1mJOB" in listed
    assert "nightly" in listed
    assert "Nothing was done." in refused


def on_a_terminal(arguments: list[str], environment: dict[str, str], answers: list[tuple[str, str]]) -> str:
    """Run a command on a pseudo-terminal, answer its questions, and return all that it shows."""
    outer, inner = pty.openpty()
    command = [sys.executable, "-m", "timeball", *arguments]
    with subprocess.Popen(
        command, stdin=inner, stdout=inner, stderr=inner, env=environment, start_new_session=True
    ) as process:
        os.close(inner)
        seen = ""
        while chunk := _read(outer):
            seen += chunk
            if answers and answers[0][0] in seen:
                os.write(outer, f"{answers.pop(0)[1]}\n".encode())
        process.wait()
    os.close(outer)
    assert answers == []
    return seen


def _read(terminal: int) -> str:
    """Return what a terminal shows next; nothing at its end, which Linux reports as an error."""
    try:
        return os.read(terminal, 4096).decode()
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        return ""
