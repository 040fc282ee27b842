"""The tree of commands: which there are, that each explains itself, and that one costs the others nothing."""

import json
import subprocess
import sys
from typing import Any

import pytest
import typer

from docs.cli import contexts
from tests.cli.commands import timeball
from timeball import __version__
from timeball.cli.main import app, main
from timeball.cli.registry import COMMANDS
from timeball.cli.tree import JsonCommand

TREE = """
login | logout | whoami | profile list | profile use | profile delete | open | now
job list | job show | job put | job edit | job pause | job resume | job skip | job trigger | job delete | job graph
job history | job restore | job cost
run list | run show | run watch | run retry | run cancel | run succeed
cycle show | cycle rerun | cycle trigger | failures list | failures show | failures replay | failures discard
backfill create | backfill list | backfill show | backfill cancel
bulk pause | bulk resume | bulk cancel | bulk trigger | bulk retry | bulk show | bulk list
preview | test-call | event send
task list | task show | task set | task delete | calendar list | calendar show | calendar set | calendar delete
freeze list | freeze show | freeze set | freeze delete | limit show | limit set
tenant list | tenant show | tenant set | tenant delete
key list | key show | key create | key set | key rotate | key delete | secret draw | secret create | secret rotate
stats | doctor | worker | listen | api | completion
"""
WANTED = [one.strip() for line in TREE.strip().splitlines() for one in line.split("|")]
ALL: dict[str, Any] = {
    one.command_path.removeprefix("timeball").strip(): one
    for one in contexts(typer.main.get_command(app), None, "timeball")
}


@pytest.mark.parametrize("path", WANTED)
def test_the_tree_has_the_command(path: str) -> None:
    assert path in ALL
    assert not hasattr(ALL[path].command, "list_commands")


@pytest.mark.parametrize("path", ALL)
def test_a_command_explains_itself_and_each_of_its_options(path: str) -> None:
    command = ALL[path].command
    assert command.help
    for parameter in command.params:
        if parameter.name == "help":
            continue
        assert parameter.help, f"{path} {parameter.name}"
        assert parameter.help.endswith("."), f"{path} {parameter.name}"
        assert all(option == option.lower() for option in parameter.opts if option.startswith("--"))


@pytest.mark.parametrize("path", ALL)
def test_a_command_that_prints_json_takes_fields_or_none(path: str) -> None:
    command = ALL[path].command
    names = {option for parameter in command.params for option in parameter.opts}
    assert "--json" not in names or isinstance(command, JsonCommand) or path == "preview"


@pytest.mark.parametrize("path", ["", "job", "job list", "worker"])
def test_help_is_printed_and_is_no_error(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*path.split(), "--help"]) == 0
    seen = capsys.readouterr()
    assert seen.out.startswith(f"Usage: timeball {path}".strip())
    assert seen.err == ""


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"timeball {__version__}\n"


# Each case: what runs, and beginnings of modules that it does not load.
LOADED: dict[str, tuple[str, tuple[str, ...]]] = {
    "a preview": (
        "['preview', '--cron', '30 1 * * *', '--json']",
        ("rich", "httpx", "timeball.client", "timeball.cli.jobs"),
    ),
    "the help": ("['--help']", ("rich", "httpx", "timeball.client", "timeball.cli.jobs", "timeball.domain")),
    "a list": (
        "['profile', 'list']",
        ("rich", "pygments", "timeball.cli.jobs", "timeball.cli.work", "timeball.domain"),
    ),
    "a worker": ("['worker', '--help']", ("rich", "boto3", "botocore", "timeball.cli.jobs", "timeball.aws.clients")),
}


@pytest.mark.parametrize("case", LOADED)
def test_a_command_loads_neither_another_nor_what_it_does_not_need(case: str) -> None:
    arguments, absent = LOADED[case]
    code = (
        "import json, sys\nfrom timeball.cli.main import main\n"
        f"main({arguments})\nprint(json.dumps([*sys.modules]), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [module for module in json.loads(done.stderr) if module.startswith(absent)] == []


# Each case: what is measured, in yardsticks of a millisecond.
EFFORTS = {
    "the import": "import timeball.cli.main",
    "a preview": "from timeball.cli.main import main; main(['preview', '--cron', '0 9 * * MON-FRI'])",
}


@pytest.mark.parametrize("case", EFFORTS)
def test_the_command_line_starts_fast(case: str) -> None:
    code = f"from tests.effort import at_most\nwith at_most(150):\n    {EFFORTS[case]}"
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


def test_the_registry_describes_each_command_in_a_sentence() -> None:
    for module, line in COMMANDS.values():
        assert module.startswith("timeball.")
        assert line.endswith(".")
        assert len(line) < 75


@pytest.mark.parametrize(
    ("words", "found"), [("timeball jo", "job"), ("timeball job pa", "pause"), ("timeball job list --sta", "--status")]
)
def test_a_shell_completes_commands_and_options(words: str, found: str) -> None:
    environment = {"_TIMEBALL_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = timeball([], environment)
    assert (done.status, done.stdout.split()) == (0, [found])


@pytest.mark.parametrize("path", ["plan", "apply", "export", "audit", "run explain"])
def test_no_command_is_shown_before_it_does_something(path: str) -> None:
    assert path not in ALL
