"""The template of the local stage, which the CDK app of cdk.json synthesizes, kept until one of its sources changes.

The app is told exactly what the CDK's command line would tell it, so that the template is the one that `cdk deploy`
would send (`tests/local/test_synthesis.py`); the command line itself takes seconds, and adds nothing else. Bundles are
kept by the hashes that the CDK gives them, so that a change of our code does not install the packages again.

Invariant: a kept assembly is complete: it is written elsewhere, and renamed.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import platform
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from infra.alarm_settings import OFF
from infra.settings import PREFIX, Settings
from local.installed import ROOT
from timeball.dev.assembly import Assembly, write_assembly
from timeball.dev.child import Child
from timeball.dev.stage import Step

MADE_FROM: Final = ("cdk.json", "console", "functions", "infra", "layers", "requirements/dev.txt")
"""The files and folders that the template and its bundles are made from."""
_IGNORED: Final = {"__pycache__", "node_modules"}

_KEPT: Final = ROOT / ".local/synthesized"
_BUNDLES: Final = ROOT / ".local/bundles"
_MOST_KEPT: Final = 6

CONTEXT_OF_THE_COMMAND_LINE: Final[Mapping[str, object]] = {
    "aws:cdk:enable-path-metadata": True,
    "aws:cdk:enable-asset-metadata": True,
    "aws:cdk:version-reporting": True,
    "aws:cdk:bundling-stacks": ["**"],
    "@aws-cdk/core:failSynthOnValidationErrors": False,
}
"""The context that the CDK's command line adds to that of cdk.json."""


def synthesized(overrides: Mapping[str, object], step: Step) -> Assembly:
    """Return the assembly of the local stage with some other settings; raise `ChildFailedError` if the app fails."""
    context = {"stage": "local", **overrides}
    settings = Settings.read({PREFIX + name: value for name, value in context.items()})
    kept = _KEPT / digest(context, [Path(__file__), *made_from()])
    with _alone(kept.name):
        if kept.exists():
            kept.touch()
        else:
            with step("Synthesizing the template anew, because a file or a setting has changed"):
                _synthesize(context, settings, kept)
    return Assembly.read(kept)


def digest(context: Mapping[str, object], files: Iterable[Path]) -> str:
    """Return the hash of everything that an assembly depends on: the settings, the files, this machine."""
    facts = [sys.version, platform.machine(), str(ROOT), json.dumps(context, sort_keys=True, default=str)]
    whole = hashlib.sha256("\n".join(facts).encode())
    for path in files:
        whole.update(str(path).encode())
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


def made_from() -> Iterator[Path]:
    """Yield each file that the assembly is made from."""
    for name in MADE_FROM:
        path = ROOT / name
        yield from [path] if path.is_file() else _files_in(path)


def _files_in(folder: Path) -> Iterator[Path]:
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _IGNORED)
        yield from (Path(path) / name for name in sorted(files))


@contextlib.contextmanager
def _alone(name: str) -> Iterator[None]:
    """Let one process at a time make an assembly, for which the others wait."""
    locks = ROOT / ".local/locks"
    locks.mkdir(parents=True, exist_ok=True)
    with (locks / name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _synthesize(context: Mapping[str, object], settings: Settings, kept: Path) -> None:
    _KEPT.mkdir(parents=True, exist_ok=True)
    _BUNDLES.mkdir(exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix="unfinished-", dir=_KEPT))
    try:
        app = made / "cdk.out"
        app.mkdir()
        for archive in _BUNDLES.glob("*.zip"):
            (app / f"asset.{archive.stem}").mkdir()  # the CDK makes a bundle only if its folder is not there
        with _app(context, app, made) as synthesis:
            synthesis.succeed("the synthesis of the app")
        assets = dict(_bundled(app, settings.name))
        template = (app / f"{settings.name}.template.json").read_text()
        facts = {"name": settings.name, "tickInput": settings.tick_input, "console": settings.console != OFF}
        shutil.rmtree(app)
        write_assembly(made, template, facts, assets)
        made.rename(kept)
        made.with_suffix(".log").unlink()
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    _forget_the_oldest()


def _app(context: Mapping[str, object], output: Path, folder: Path) -> Child:
    """Start the app as the CDK's command line does, without checks of types, which take a quarter of its time."""
    declared = json.loads((ROOT / "cdk.json").read_text())["context"]
    ours = {PREFIX + name: str(value) for name, value in context.items()}
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "CDK_"))},
        "CDK_OUTDIR": str(output),
        "CDK_CONTEXT_JSON": json.dumps({**declared, **ours, **CONTEXT_OF_THE_COMMAND_LINE}),
        # Tests check the template; here the checks would double the time.
        "CDK_VALIDATION": "false",
    }
    command = [sys.executable, "-O", "-m", "infra.app"]
    return Child(command, environment=environment, folder=ROOT, log=_KEPT / f"{folder.name}.log")


def _bundled(app: Path, stack: str) -> Iterator[tuple[str, str]]:
    """Keep the bundles of an app, and yield the keys of their archives with the paths from a kept assembly."""
    files = json.loads((app / f"{stack}.assets.json").read_text())["files"]
    for file in files.values():
        if file["source"]["packaging"] == "zip":
            (destination,) = file["destinations"].values()
            archive = _BUNDLES / destination["objectKey"]
            if not archive.exists():
                _keep(app / file["source"]["path"], archive)
            yield destination["objectKey"], os.path.relpath(archive, _KEPT / "any")


def _keep(folder: Path, archive: Path) -> None:
    """Keep the archive of a bundle, which is not compressed: it never leaves this machine."""
    with tempfile.TemporaryDirectory(dir=_BUNDLES) as unfinished:
        written = Path(unfinished) / archive.name
        with zipfile.ZipFile(written, "w") as zipped:
            for path in sorted(folder.rglob("*")):
                zipped.write(path, path.relative_to(folder))
        written.rename(archive)


def _forget_the_oldest() -> None:
    assemblies = sorted((path for path in _KEPT.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)
    for path in assemblies[:-_MOST_KEPT]:
        shutil.rmtree(path, ignore_errors=True)
    needed: set[str] = set()
    for facts in _KEPT.glob("*/facts.json"):
        kept: Mapping[str, Any] = json.loads(facts.read_text())
        needed |= {Path(path).stem for path in kept["assets"].values()}
    for archive in _BUNDLES.glob("*.zip"):
        if archive.stem not in needed:
            archive.unlink(missing_ok=True)
