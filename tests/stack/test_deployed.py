"""The deployed assets: they contain every import of the functions, and their bytecode."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest
from aws_cdk import App
from aws_cdk.assertions import Annotations, Match

from infra import target as targets
from infra.bundle import BundlingError, compile_all, digest
from infra.code import copy_code
from infra.console import copy_console
from infra.dependencies import install
from infra.settings import Settings
from infra.stack import TimeballStack
from infra.target import Target
from tests.stack.conftest import Synthesized, synthesized

LOCAL = Target.of(Settings.read({"timeball:stage": "local"}))

IMPORT = """
import importlib, json, sys, time
sys.path[:0] = sys.argv[2:]
assert callable(getattr(importlib.import_module(sys.argv[1]), "handler"))
cpu_ms = int(time.process_time() * 1000)
origins = {name: getattr(module, "__file__", None) for name, module in sys.modules.items()}
print(json.dumps([cpu_ms, {name: origin for name, origin in origins.items() if origin}]))
"""


@pytest.fixture(scope="session")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the packages of the layer of dependencies, built for this machine."""
    folder = tmp_path_factory.mktemp("opt")
    install(LOCAL, folder)
    return folder / "python"


@pytest.fixture(scope="session")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the functions' code, built for this machine."""
    folder = tmp_path_factory.mktemp("task")
    copy_code(LOCAL, folder)
    return folder


def _import(module: str, *folders: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Import a function with only these folders on the path."""
    return subprocess.run(
        # -I and -S hide this environment: its packages and its variables. -B: as in a read-only folder.
        [sys.executable, "-I", "-S", "-B", "-c", IMPORT, module, *folders],
        env={**environment, "AWS_DEFAULT_REGION": "eu-central-1"},
        cwd=folders[0],
        capture_output=True,
        text=True,
        check=False,
    )


def _imported(module: str, *folders: Path, environment: dict[str, str]) -> dict[str, str]:
    """Import a function with only these folders on the path; return the file of each module that this loads."""
    done = _import(module, *folders, environment=environment)
    assert not done.returncode, f"{module}: {done.stderr}"
    origins: dict[str, str] = json.loads(done.stdout)[1]
    return origins


@pytest.fixture(scope="session")
def environments(local_stack: Synthesized) -> dict[str, dict[str, str]]:
    """Return the environment of each function, by its module."""
    return {
        function["Handler"].removesuffix(".handler"): {
            name: str(value) for name, value in function["Environment"]["Variables"].items()
        }
        for name, function in local_stack.functions().items()
        if name != "console"
    }


def test_each_function_imports_only_from_its_code_and_its_layer(
    environments: dict[str, dict[str, str]], layer: Path, task: Path
) -> None:
    for module, environment in environments.items():
        imported = _imported(module, task, layer, environment=environment)
        ours = {name: file for name, file in imported.items() if name.split(".")[0] in {"functions", "timeball"}}
        assert {"timeball.aws", module} <= ours.keys()
        assert [name for name, file in ours.items() if not file.startswith(f"{task}/")] == []


ANSWER = """
import json, sys
sys.path.insert(0, sys.argv[1])
from functions.console import handler
event = {"rawPath": "/console/", "headers": {}, "requestContext": {"http": {"method": "GET"}}}
answer = handler(event, None)
print(json.dumps([answer, sorted({name.partition(".")[0] for name in sys.modules} - {"functions", "timeball"})]))
"""


def test_the_console_needs_nothing_but_its_folder(tmp_path: Path) -> None:
    copy_console(LOCAL, tmp_path)
    for source in tmp_path.rglob("*.py"):
        source.write_text("raise ImportError('the source was read')")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", ANSWER, tmp_path], env={}, capture_output=True, text=True, check=True
    )
    answer, imported = json.loads(done.stdout)
    assert (answer["statusCode"], answer["headers"]["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert set(imported) <= {*sys.stdlib_module_names, "__main__"}


def test_modules_are_loaded_from_unchecked_bytecode(
    environments: dict[str, dict[str, str]], layer: Path, tmp_path: Path
) -> None:
    task = tmp_path / "task"
    copy_code(LOCAL, task)
    for source in task.rglob("*.py"):
        source.write_text("raise ImportError('the source was read')")
    for module, environment in environments.items():
        _imported(module, task, layer, environment=environment)


def test_both_folders_are_compiled_completely_with_the_paths_of_the_deployment(layer: Path, task: Path) -> None:
    assert list(layer.rglob("*.py")) == []
    unchecked_hash = (0b01).to_bytes(4, "little")
    assert {compiled.read_bytes()[4:8] for compiled in layer.rglob("*.pyc")} == {unchecked_hash}
    assert b"/opt/python/boto3/session.py" in (layer / "boto3/session.pyc").read_bytes()
    for source in task.rglob("*.py"):
        compiled = source.parent / "__pycache__" / f"{source.stem}.{sys.implementation.cache_tag}.pyc"
        assert compiled.read_bytes()[4:8] == unchecked_hash, source
    (ours,) = (task / "functions/__pycache__").glob("scan.*.pyc")
    assert b"/var/task/functions/scan.py" in ours.read_bytes()


class _Table(BaseHTTPRequestHandler):
    """A table without rows; `asked` are the operations that it received."""

    asked: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.asked.append(self.headers["X-Amz-Target"])
        answer = b'{"Responses": {}, "UnprocessedKeys": {}}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("module", ["functions.execute", "functions.scan"])
def test_a_cold_start_loads_and_connects_everything_that_the_first_event_needs(
    module: str,
    environments: dict[str, dict[str, str]],
    layer: Path,
    task: Path,
    record_property: Callable[[str, object], None],
) -> None:
    _Table.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), _Table) as table:
        Thread(target=table.serve_forever, daemon=True).start()
        done = _import(module, task, layer, environment=environments[module] | _in_a_function(table.server_port))
        table.shutdown()
    assert not done.returncode, done.stderr
    cpu_ms, imported = json.loads(done.stdout)
    assert {"timeball.aws.clients", *(["pycurl"] if module == "functions.execute" else [])} <= imported.keys()
    assert {"boto3", "botocore"}.isdisjoint(imported)
    assert _Table.asked == ["DynamoDB_20120810.BatchGetItem"]
    record_property(f"CPU of a cold start of {module}, ms", cpu_ms)


def test_a_table_that_does_not_answer_stops_no_function_from_starting(
    environments: dict[str, dict[str, str]], layer: Path, task: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    done = _import(
        "functions.execute", task, layer, environment=environments["functions.execute"] | _in_a_function(port)
    )
    assert not done.returncode, done.stderr


def test_a_missing_variable_is_reported_when_a_function_starts(layer: Path, task: Path) -> None:
    done = _import("functions.execute", task, layer, environment=_in_a_function(1))
    assert "SettingsError: Set TIMEBALL_JOBS_TABLE.\n" in done.stderr


def _in_a_function(port: int) -> dict[str, str]:
    return {
        "AWS_LAMBDA_FUNCTION_NAME": "a-function",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
    }


def test_code_that_only_people_and_tests_use_is_not_deployed(task: Path) -> None:
    deployed = {str(path.relative_to(task)) for path in task.rglob("*") if "__pycache__" not in path.parts}
    assert {
        "functions/scan.py",
        "timeball/api/app.py",
        "timeball/domain/time/preview.py",
        "timeball/aws/dynamodb/store.py",
    } <= deployed
    of_makers = ("timeball/api/openapi/__main__", "timeball/testing")
    of_users = ("__main__", "cdk", "cli", "client", "dev", "importing", "mcp", "rehearsal")
    of_the_console = ("functions/console", "timeball/console")
    unwanted = (*of_makers, *(f"timeball/{name}" for name in of_users), *of_the_console)
    assert not {path for path in deployed if path.startswith(unwanted)}


def test_all_functions_but_the_consoles_share_one_asset_and_no_layer_contains_our_code(
    stack: Synthesized, layer: Path
) -> None:
    functions = [function for name, function in stack.functions().items() if name != "console"]
    assert len({json.dumps(function["Code"]) for function in functions}) == 1
    (used,) = {json.dumps(function["Layers"]) for function in functions}
    (only,) = stack.resources("AWS::Lambda::LayerVersion")
    assert json.loads(used) == [{"Ref": only}]
    assert not (layer / "timeball").exists()


def _assets(stack: Synthesized) -> set[str]:
    resources = [
        *stack.resources("AWS::Lambda::Function").values(),
        *stack.resources("AWS::Lambda::LayerVersion").values(),
    ]
    codes: list[dict[str, Any]] = [one["Properties"].get("Code") or one["Properties"]["Content"] for one in resources]
    return {code["S3Key"] for code in codes}


def test_the_same_sources_make_the_same_assets(stack: Synthesized, local_stack: Synthesized, tmp_path: Path) -> None:
    assert _assets(synthesized(tmp_path, "local")) == _assets(local_stack)
    assert _assets(stack).isdisjoint(_assets(local_stack))


@pytest.mark.parametrize(
    "other",
    [
        digest(replace(LOCAL, compiler=None), [b"a", b"b"]),
        digest(replace(LOCAL, python="3.99"), [b"a", b"b"]),
        digest(LOCAL, [b"ab"]),
        digest(LOCAL, [b"a"]),
    ],
)
def test_other_sources_or_another_target_make_another_asset(other: str) -> None:
    assert digest(LOCAL, [b"a", b"b"]) == digest(replace(LOCAL), [b"a", b"b"])
    assert other != digest(LOCAL, [b"a", b"b"])


def test_the_layer_of_an_account_is_built_for_its_python_and_processor(tmp_path: Path) -> None:
    install(Target.of(Settings.read({"timeball:stage": "small"})), tmp_path)
    (compiled,) = (tmp_path / "python/pydantic_core").glob("*.so")
    assert compiled.name.endswith("cpython-313-aarch64-linux-gnu.so")
    assert sum(path.stat().st_size for path in tmp_path.rglob("*")) < 100_000_000


def test_without_an_interpreter_of_the_runtimes_version_a_warning_says_that_only_sources_are_deployed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(targets, "_interpreter", lambda _: None)
    settings = Settings.read({})
    one_line = Match.string_like_regexp(
        r"^This machine has no Python 3\.13 whose bytecode the runtime accepts, so only sources .*"
        r"`\.venv/bin/uv python install 3\.13`.*$"
    )
    Annotations.from_stack(TimeballStack(App(context={"aws:cdk:bundling-stacks": []}), settings)).has_warning(
        "/Timeball", one_line
    )
    copy_code(Target.of(settings), tmp_path)
    assert (tmp_path / "functions/scan.py").exists()
    assert list(tmp_path.rglob("*.pyc")) == []


IMPOSTORS = {
    "another version": 'exec "{python}" "$@"',
    "another implementation": "echo pypy313 f30d0d0a",
    "one from before the release": "echo cpython-313 f10d0d0a",
    "a shim of nothing": "echo 'pyenv: python3.13: command not found' >&2; exit 127",
}


@pytest.mark.parametrize("case", IMPOSTORS)
def test_a_python_on_the_path_that_is_not_the_runtimes_makes_no_bytecode(
    case: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    impostor, sound = tmp_path / "shims/python3.13", tmp_path / "bin/python3.13"
    for path, text in ((impostor, IMPOSTORS[case]), (sound, "echo cpython-313 f30d0d0a")):
        path.parent.mkdir()
        path.write_text("#!/bin/sh\n" + text.format(python="/bin/false") + "\n")
        path.chmod(0o755)
    monkeypatch.setattr(targets, "find_uv", lambda: None)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    monkeypatch.setenv("PATH", f"{impostor.parent}")
    assert Target.of(Settings.read({})).compiler is None
    monkeypatch.setenv("PATH", f"{impostor.parent}:{sound.parent}")
    assert Target.of(Settings.read({})).compiler == str(sound)


def test_an_interpreter_that_a_shim_points_to_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept = tmp_path / "versions/3.13.5/bin/python3.13"
    kept.parent.mkdir(parents=True)
    kept.write_text("#!/bin/sh\necho cpython-313 f30d0d0a\n")
    kept.chmod(0o755)
    monkeypatch.setattr(targets, "find_uv", lambda: None)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    monkeypatch.setenv("PATH", f"{tmp_path / 'shims'}")
    assert Target.of(Settings.read({})).compiler == str(kept)


def test_a_source_that_cannot_be_compiled_is_not_deployed(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text("def")
    with pytest.raises(BundlingError, match=r"could not compile the deployed code:(.|\n)*odd\.py"):
        compile_all(tmp_path, LOCAL, "/var/task")


def test_without_uv_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("infra.target.shutil.which", lambda *_, **__: None)
    with pytest.raises(BundlingError, match="uv is missing: run `make setup`"):
        install(Target.of(Settings.read({})), tmp_path)
