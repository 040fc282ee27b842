"""Write the parts of `timeball dev` for a wheel: the template, the functions' sources, the locked lists of packages.

The build of the wheel calls this (`hatch_build.py`). The parts have no bytecode and no installed packages, so that one
wheel serves every Python and every processor.
"""

import json
import shutil
import sys
import zipfile
from pathlib import Path

from infra.dependencies import LOCK, SERVICES
from local.installed import ROOT
from local.synthesis import synthesized
from timeball.dev.assembly import TEMPLATE
from timeball.dev.installation import EMULATOR_PACKAGES, LAYER_PACKAGES, PARTS_FACTS
from timeball.dev.stage import silently

_LAYERS = "python/"
"""The folder of all files of a layer."""


def write_parts(folder: Path) -> None:
    """Write the parts into a folder, which is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    assembly = synthesized({}, silently)
    layers = [key for key, path in assembly.assets.items() if _is_layer(path)]
    archives = {key: f"{key[:8]}.zip" for key in assembly.assets if key not in layers}
    for key, name in archives.items():
        _copy_sources(assembly.assets[key], folder / name)
    facts = {
        "assembly": {
            "name": assembly.name,
            "tickInput": dict(assembly.tick_input),
            "console": assembly.has_console,
        },
        "archives": archives,
        "layer": layers[0],
        "services": SERVICES,
    }
    (folder / PARTS_FACTS).write_text(json.dumps(facts, indent=2) + "\n")
    (folder / TEMPLATE).write_text(assembly.template)
    shutil.copy(LOCK, folder / LAYER_PACKAGES)
    shutil.copy(ROOT / "requirements/ministack.txt", folder / EMULATOR_PACKAGES)


def _is_layer(archive: Path) -> bool:
    with zipfile.ZipFile(archive) as opened:
        return all(name.startswith(_LAYERS) for name in opened.namelist())


def _copy_sources(archive: Path, copy: Path) -> None:
    with zipfile.ZipFile(archive) as opened, zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED) as written:
        for name in opened.namelist():
            if "__pycache__/" not in name and not name.endswith("/"):
                written.writestr(zipfile.ZipInfo(name), opened.read(name), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    write_parts(Path(sys.argv[1]))
