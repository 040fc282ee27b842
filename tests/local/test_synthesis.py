"""The kept template is that of the CDK's own command line, and another one as soon as a source has changed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from local.installed import ROOT
from local.synthesis import MADE_FROM, digest, made_from, synthesized
from timeball.dev.stage import silently

OPENED = """
import json, os, runpy, sys
opened = set()
sys.addaudithook(lambda event, told: opened.add(told[0]) if event == "open" and isinstance(told[0], str) else None)
runpy.run_module("infra.app", run_name="__main__")
print(json.dumps(sorted(os.path.abspath(path) for path in opened)))
"""


def _environment(output: Path) -> dict[str, str]:
    context = json.loads((ROOT / "cdk.json").read_text())["context"] | {"timeball:stage": "local"}
    own = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "CDK_"))}
    return {
        **own,
        "CDK_OUTDIR": str(output),
        "CDK_CONTEXT_JSON": json.dumps(context),
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "CDK_DISABLE_VERSION_CHECK": "1",
        "CDK_VALIDATION": "false",
    }


def _without_bundling(folder: Path, assets: list[str]) -> None:
    """Make the folders of the bundles, which the CDK then does not make."""
    for key in assets:
        (folder / f"asset.{Path(key).stem}").mkdir(parents=True)


@pytest.mark.more
def test_the_template_is_the_one_that_the_command_line_of_the_cdk_would_deploy(tmp_path: Path) -> None:
    kept = synthesized({}, silently)
    _without_bundling(tmp_path, [*kept.assets])
    command = [str(ROOT / ".venv/bin/node"), str(ROOT / "node_modules/aws-cdk/bin/cdk"), "synth", "--quiet"]
    options = ["--no-notices", "--app", f"{sys.executable} -m infra.app", "--output", str(tmp_path)]
    subprocess.run([*command, *options, "-c", "timeball:stage=local"], cwd=ROOT, env=_environment(tmp_path), check=True)
    assert (tmp_path / "Timeball.template.json").read_text() == kept.template


@pytest.mark.more
def test_every_file_of_ours_that_the_app_reads_is_one_of_which_a_change_is_noticed(tmp_path: Path) -> None:
    _without_bundling(tmp_path, [*synthesized({}, silently).assets])
    command = [sys.executable, "-O", "-c", OPENED]
    done = subprocess.run(command, cwd=ROOT, env=_environment(tmp_path), check=True, capture_output=True, text=True)
    opened = [Path(path) for path in json.loads(done.stdout.splitlines()[-1])]
    ours = {path.relative_to(ROOT) for path in opened if path.is_relative_to(ROOT) and path.is_file()}
    read = {path for path in ours if path.parts[0] not in {".venv", "node_modules"} and "__pycache__" not in path.parts}
    noticed = {path.relative_to(ROOT) for path in made_from()}
    assert Path("infra/stack.py") in read
    assert not read - noticed


def test_the_sources_are_those_of_the_functions_the_console_the_app_and_its_packages() -> None:
    found = {path.relative_to(ROOT).as_posix() for path in made_from()}
    assert {
        "cdk.json",
        "console/index.html",
        "functions/scan.py",
        "infra/tick.asl.json",
        "layers/core/python/timeball/setting.py",
        "layers/deps/requirements.txt",
        "requirements/dev.txt",
    } <= found
    assert not [path for path in found if "__pycache__" in path or "node_modules" in path]
    assert {path.split("/")[0] for path in found} == {name.split("/")[0] for name in MADE_FROM}


def test_another_text_another_file_or_another_setting_is_another_template(tmp_path: Path) -> None:
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("1")
    two.write_text("1")
    first = digest({"stage": "local"}, [one])
    assert digest({"stage": "local"}, [one]) == first
    others = {digest({"stage": "local"}, [two]), digest({"stage": "local"}, [one, two])}
    others.add(digest({"stage": "local", "shards": 2}, [one]))
    one.write_text("2")
    others.add(digest({"stage": "local"}, [one]))
    assert len(others - {first}) == 4
