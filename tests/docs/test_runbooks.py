"""The commands of the runbooks exist: those of AWS in its models, requests among the API's routes."""

import re
import shlex

import pytest

from tests.docs.readme import ROOT, runbook_commands
from tests.end_to_end.aws_cli import UnknownCommandError, parse
from timeball.api.openapi.document import document

_REQUEST = re.compile(r'"\$API(/[^"?]*)')


def _commands_of_aws(blocks: str) -> list[str]:
    """Return the words after each `aws`, with the arithmetic of the shell left out."""
    lines = re.sub(r"\$\(\(.*?\)\)\"", '1"', blocks.replace("\\\n", " ")).splitlines()
    found = [re.fullmatch(r"(.*\$\()?aws (.*?)", line) for line in lines]
    return [one[2].removesuffix(")") if one[1] else one[2] for one in found if one]


@pytest.mark.parametrize("page", sorted(runbook_commands()))
def test_each_command_of_aws_and_each_request_exists(page: str) -> None:
    blocks = "\n".join(runbook_commands()[page])
    commands = _commands_of_aws(blocks)
    assert len(commands) == len(re.findall(r"\baws ", blocks))
    for command in commands:
        parse(shlex.split(command))
    paths = [re.compile(re.sub(r"\{\w+\}", "[^/:]+", path)) for path in document()["paths"]]
    for request in _REQUEST.findall(blocks):
        assert any(path.fullmatch(request) for path in paths), request


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("sqs get-queue-atributes --queue-url x", "sqs has no operation"),
        ("sqs get-queue-attributes --queue x", "--queue is no parameter"),
        ("sqss list-queues", "there is no service"),
    ],
)
def test_a_command_that_does_not_exist_is_an_error(command: str, sentence: str) -> None:
    with pytest.raises(UnknownCommandError, match=sentence):
        parse(command.split())


def test_each_runbook_has_commands() -> None:
    assert {path.stem for path in (ROOT / "docs/runbooks").glob("*.md")} == {*runbook_commands()}
