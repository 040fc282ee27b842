"""The linters that know AWS's rules find nothing in the synthesized template."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from infra.ticker import DEFINITION
from tests.stack.conftest import ROOT, Synthesized


def _found_by(*command: str | Path) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


@pytest.mark.parametrize(
    ("fixture", "ignored"),
    [
        # W3005: the CDK writes down dependencies that a reference implies anyway. E3601 knows only the partition `aws`;
        # the other linter checks the ticker's definition.
        ("watched_stack", ["W3005", "E3601"]),
        pytest.param("stack", ["W3005", "E3601"], marks=pytest.mark.more),
        pytest.param(  # the emulator needs actions that AWS does not know
            "local_stack", ["W3005", "E3601", "W3037"], marks=pytest.mark.more
        ),
        pytest.param("fixed_stack", ["W3005", "E3601"], marks=pytest.mark.more),
        pytest.param("gradual_stack", ["W3005", "E3601"], marks=pytest.mark.more),
        pytest.param("keyed_stack", ["W3005", "E3601"], marks=pytest.mark.more),
        pytest.param("full_archive_stack", ["W3005", "E3601"], marks=pytest.mark.more),
    ],
)
def test_cfn_lint_finds_nothing(fixture: str, ignored: list[str], request: pytest.FixtureRequest) -> None:
    synthesized: Synthesized = request.getfixturevalue(fixture)
    cfn_lint = Path(sys.executable).with_name("cfn-lint")
    assert not _found_by(cfn_lint, "--ignore-checks", *ignored, "--", synthesized.path)


def test_asl_validator_finds_nothing_in_the_ticker(stack: Synthesized, tmp_path: Path) -> None:
    (machine,) = stack.resources("AWS::StepFunctions::StateMachine").values()
    definition = tmp_path / "tick.asl.json"
    definition.write_text(machine["Properties"]["DefinitionString"].replace("${Partition}", "aws"))
    node, validator = Path(sys.executable).with_name("node"), ROOT / "node_modules/.bin/asl-validator"
    assert not _found_by(node, validator, "--json-path", definition)


def test_asl_validator_finds_a_deliberate_mistake(tmp_path: Path) -> None:
    broken = json.loads(DEFINITION.read_text())
    broken["StartAt"] = "Nowhere"
    definition = tmp_path / "broken.asl.json"
    definition.write_text(json.dumps(broken))
    node, validator = Path(sys.executable).with_name("node"), ROOT / "node_modules/.bin/asl-validator"
    assert _found_by(node, validator, "--json-path", definition)
