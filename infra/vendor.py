"""`make lock`: copy what the console imports from npm's packages into `console/vendor`, with licences and hashes.

Nothing is built: a file is copied as its package has it, without the name of a map that is not served.
"""

import hashlib
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent / "console/vendor"


@dataclass(frozen=True)
class Vendored:
    """A file of a package."""

    package: str
    path: str


VENDORED: Final = {
    "htm-preact.js": Vendored("htm", "preact/standalone.module.js"),
}
"""Each file that pages import. `htm-preact.js` contains preact, whose package is installed for its licence."""

_MAP = re.compile(rb"^//# sourceMappingURL=.*\n?", re.MULTILINE)


def content_of(file: Vendored, packages: Path) -> bytes:
    """Return a file as it is served."""
    content = _MAP.sub(b"", (packages / file.package / file.path).read_bytes())
    return content.rstrip() + b"\n"


def copy(root: Path) -> None:
    """Write all files, their list, and their licences."""
    packages = root / "node_modules"
    facts = {}
    for name, file in VENDORED.items():
        content = content_of(file, packages)
        (root / name).write_bytes(content)
        about = _about(packages, file.package)
        facts[name] = {
            "package": file.package,
            "version": about["version"],
            "licence": about["license"],
            "file": file.path,
            "sha256": hashlib.sha256(content).hexdigest(),
        }
    (root / "vendored.json").write_text(json.dumps(facts, indent=2) + "\n")
    installed = json.loads((root / "package-lock.json").read_text())["packages"]
    names = [path.removeprefix("node_modules/") for path in installed if path]
    (root / "licences.txt").write_text("\n\n".join(_licence(packages, name) for name in names) + "\n")


def _about(packages: Path, name: str) -> dict[str, str]:
    about: dict[str, str] = json.loads((packages / name / "package.json").read_text())
    return about


def _licence(packages: Path, name: str) -> str:
    about = _about(packages, name)
    text = (packages / name / "LICENSE").read_text().strip("\n")
    return f"{name} {about['version']} ({about['license']})\n\n{text}"


if __name__ == "__main__":
    copy(ROOT)
    sys.stdout.write(f"{ROOT.relative_to(ROOT.parents[1])}: {', '.join(VENDORED)}\n")
