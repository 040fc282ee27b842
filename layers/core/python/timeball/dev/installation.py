"""The installation that a wheel of Timeball makes in the user's cache folder, once, to run one on this machine.

The wheel brings the template, the functions' sources and two lists of packages with their hashes. Packages and bytecode
depend on this Python and this processor, so they are made here: the environment of the embedded AWS, and the layer.

Invariant: an installation with the mark is complete. Its name is a hash of all that it is made from.
"""

import fcntl
import hashlib
import json
import platform
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from timeball.dev.assembly import TEMPLATE, write_assembly
from timeball.dev.stage import Step

PARTS: Final = Path(__file__).parent / "parts"
"""The folder that the build of the wheel adds."""
PARTS_FACTS: Final = "parts.json"
EMULATOR_PACKAGES, LAYER_PACKAGES = "emulator.txt", "layer.txt"
LAYER: Final = "layer.zip"

_MARK: Final = "complete"
_QUIET: Final = ("--quiet", "--require-hashes", "--only-binary", ":all:")


class InstallationError(RuntimeError):
    """The installation cannot be made."""


@dataclass(frozen=True)
class Installation:
    """What was made."""

    python: Path
    """The Python of the embedded AWS."""
    assembly: Path
    """The folder of the assembly."""


def installed(cache: Path, step: Step, parts: Path = PARTS) -> Installation:
    """Return the installation of these parts in a cache folder, made if it is not there; raise `InstallationError`."""
    if not parts.is_dir():
        raise InstallationError(
            "This Timeball brings no template: `timeball dev` runs from a wheel. In a clone run `make run`."
        )
    folder = cache / _digest(parts)
    folder.mkdir(parents=True, exist_ok=True)
    found = Installation(folder / "emulator/bin/python", folder / "assembly")
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second process waits for the first
        if not (folder / _MARK).exists():
            with step("Installing the embedded AWS, the first time only"):
                _make_environment(found.python, parts / EMULATOR_PACKAGES)
            with step("Installing the functions' packages, the first time only"):
                _make_assembly(parts, found)
            (folder / _MARK).touch()
    return found


def _digest(parts: Path) -> str:
    facts = [sys.version, sys.base_prefix, platform.machine()]
    whole = hashlib.sha256("\n".join(facts).encode())
    for path in (Path(__file__), *sorted(path for path in parts.iterdir() if path.is_file())):
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()[:32]


def _make_environment(python: Path, packages: Path) -> None:
    environment = python.parent.parent
    uv = _uv()
    if uv:
        _run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(environment)])
    else:
        _run([sys.executable, "-m", "venv", "--clear", str(environment)])
    _install(python, packages)


def _make_assembly(parts: Path, made: Installation) -> None:
    facts: Mapping[str, Any] = json.loads((parts / PARTS_FACTS).read_text())
    shutil.rmtree(made.assembly, ignore_errors=True)
    made.assembly.mkdir()
    layer = made.assembly / "layer"
    _install(made.python, parts / LAYER_PACKAGES, "--target", str(layer / "python"))
    for described in (layer / "python/botocore/data").iterdir():
        if described.is_dir() and described.name not in facts["services"]:
            shutil.rmtree(described)  # descriptions of services that no function calls: most of the layer
    _pack(layer, made.assembly / LAYER, "/opt", made.python)
    for name in {*facts["archives"].values()}:
        sources = made.assembly / Path(name).stem
        with zipfile.ZipFile(parts / name) as archive:
            archive.extractall(sources)
        _pack(sources, made.assembly / name, "/var/task", made.python)
    assets = {facts["layer"]: LAYER, **facts["archives"]}
    write_assembly(made.assembly, (parts / TEMPLATE).read_text(), facts["assembly"], assets)


def _install(python: Path, packages: Path, *where: str) -> None:
    uv = _uv()
    installer = [uv, "pip", "install", "--python", str(python)] if uv else [str(python), "-m", "pip", "install"]
    _run([*installer, *_QUIET, *where, "--requirement", str(packages)])


def _uv() -> str | None:
    return shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")


def _pack(folder: Path, archive: Path, deployed_at: str, python: Path) -> None:
    """Replace a folder by an archive that also has bytecode: without it each process would compile the sources."""
    options = ["-q", "-j", "0", "--invalidation-mode", "unchecked-hash", "-s", str(folder), "-p", deployed_at]
    _run([str(python), "-I", "-m", "compileall", *options, str(folder)])
    with zipfile.ZipFile(archive, "w") as written:
        for path in sorted(folder.rglob("*")):
            written.write(path, path.relative_to(folder))
    shutil.rmtree(folder)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InstallationError(
            f"{done.stdout}{done.stderr}\nThe installation failed at `{' '.join(command)}`; the next start tries again."
        )
