"""The layers, built as they are deployed, hold all that the functions import."""

import subprocess
import sys
from pathlib import Path

import pytest

from infra.layers import BundlingError, Target, install
from infra.settings import Settings
from tests.stack.conftest import ROOT, Synthesized

IMPORT = """
import importlib, sys
sys.path[:0] = sys.argv[2:]
assert callable(getattr(importlib.import_module(sys.argv[1]), "handler"))
"""


@pytest.fixture(scope="session")
def dependencies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the layer of dependencies for this machine."""
    folder = tmp_path_factory.mktemp("deps") / "python"
    install(Target.of(Settings.read({"timeball:stage": "local"})), folder)
    return folder


def test_each_function_imports_from_its_layers_alone(
    local_stack: Synthesized, dependencies: Path, tmp_path: Path
) -> None:
    functions = local_stack.functions().values()
    settings = {name: str(value) for name, value in next(iter(functions))["Environment"]["Variables"].items()}
    layers = [dependencies, *local_stack.path.parent.glob("asset.*/python")]
    for module in sorted({function["Handler"].removesuffix(".handler") for function in functions}):
        done = subprocess.run(
            # -I and -S: nothing of this environment, neither its packages nor its variables.
            [sys.executable, "-I", "-S", "-c", IMPORT, module, ROOT / "functions", *layers],
            env={**settings, "AWS_DEFAULT_REGION": "eu-central-1"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not done.returncode, f"{module}: {done.stderr}"


def test_what_only_people_and_tests_use_is_not_deployed(local_stack: Synthesized) -> None:
    (package,) = local_stack.path.parent.glob("asset.*/python/timeball")
    deployed = {str(path.relative_to(package)) for path in package.rglob("*")}
    assert {"domain/preview.py", "aws/store.py"} <= deployed
    assert not {path for path in deployed if path.startswith(("__main__", "cli", "testing"))}


def test_the_layer_of_an_account_is_built_for_its_python_and_processor(tmp_path: Path) -> None:
    install(Target.of(Settings.read({"timeball:stage": "small"})), tmp_path)
    (compiled,) = (tmp_path / "pydantic_core").glob("*.so")
    assert compiled.name.endswith("cpython-313-aarch64-linux-gnu.so")
    assert sum(path.stat().st_size for path in tmp_path.rglob("*")) < 100_000_000


def test_without_uv_it_is_said_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("infra.layers.shutil.which", lambda *_, **__: None)
    with pytest.raises(BundlingError, match="uv is missing: run `make setup`"):
        install(Target.of(Settings.read({})), tmp_path)
