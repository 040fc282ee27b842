"""The pages about moving from other schedulers: every block runs, and prints what the page shows."""

import json
import re
import shlex
import subprocess
import sys
from ast import parse
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.cli.commands import Shell
from tests.console.world import World
from tests.docs.readme import ROOT, read
from timeball.targets.aws.allowed import parse_arns

PAGES = ("from-cron", "from-eventbridge-scheduler", "from-kubernetes", "from-celery-beat")
ACCOUNT = "eu-west-1:123456789012"

_BLOCK = re.compile(r"(?:<!-- ([\w-]+)(?:: (\S+))? -->\n)?^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_COMMANDS = re.compile(r"^\$ ", re.MULTILINE)


@pytest.mark.parametrize("name", PAGES)
def test_every_block_of_a_page_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    world = World(allowed=parse_arns(f"arn:aws:sqs:{ACCOUNT}:commands,arn:aws:lambda:{ACCOUNT}:function:report"))
    shell = Shell(world, {"HOME": str(tmp_path)})
    kinds = set()
    for kind, file, language, text in _BLOCK.findall(read(ROOT / f"docs/how-to/{name}.md")):
        kinds.add(kind or language)
        match kind or language:
            case "file":
                (tmp_path / file).write_text(text, encoding="utf-8")
            case "console":
                assert played(shell, text) == text
            case "python":
                parse(text)
            case "shell":
                assert subprocess.run(["/bin/sh", "-n"], input=text, text=True, check=False).returncode == 0
            case other:
                pytest.fail(f"no rule for a block of {other}")
    world.close()
    assert kinds >= {"file", "console"}


def played(shell: Shell, text: str) -> str:
    """Return a block as it should be: the commands with what they print now; `> FILE` keeps their standard output."""
    shown = []
    for line in (command.splitlines()[0] for command in _COMMANDS.split(text)[1:]):
        words = shlex.split(line)
        target = words.index(">") if ">" in words else len(words)
        done = shell(*words[1:target])
        if target < len(words):
            Path(words[-1]).write_text(done.stdout, encoding="utf-8")
        shown.append(f"$ {line}\n{done.stdout if target == len(words) else ''}{done.stderr}")
    return "".join(shown)


def test_the_script_of_the_page_about_cron_runs_a_command() -> None:
    page = read(ROOT / "docs/how-to/from-cron.md")
    (script,) = (text for _, file, _, text in _BLOCK.findall(page) if file == "run-command.py")
    payload = {"command": 'read LINE; echo "$LINE $NAME"; exit 3', "stdin": "hello\n", "environment": {"NAME": "Ada"}}

    done = subprocess.run(
        [sys.executable, "-c", script], input=json.dumps(payload), capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (3, "hello Ada\n")


def test_the_view_of_the_page_about_celery_begins_the_task() -> None:
    page = read(ROOT / "docs/how-to/from-celery-beat.md")
    (view,) = (text for kind, _, _, text in _BLOCK.findall(page) if kind == "python")
    names: dict[str, object] = {}
    exec(view, names)  # noqa: S102 - the page's own block
    app = Mock()
    app.send_task.return_value.id = "1"

    assert names["begin"]({"task": "t", "args": [1], "kwargs": {"a": 2}}, app) == "1"  # type: ignore[operator]
    app.send_task.assert_called_once_with("t", args=[1], kwargs={"a": 2})
