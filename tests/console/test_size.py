"""What the browser downloads stays small; each file is compressed by itself, as it is served."""

import base64
import re
from pathlib import Path, PurePosixPath

from timeball.console.packing import pack, unpack

_FOLDER = Path(__file__).parents[2] / "console"
_KB = 1024
_SIZES = {
    path.partition("/")[2] or "index.html": len(base64.b64decode(file.zipped))
    for path, file in unpack(pack(_FOLDER)).items()
    if path
}
_IMPORT = re.compile(r'^(?:import|export)\b[^;]*?"(\.[^"]+)";', re.MULTILINE)


def _imported(path: str) -> set[str]:
    """Return a module with all that it imports before it runs."""
    found, left = set[str](), [path]
    while left:
        one = left.pop()
        if one in found:
            continue
        found.add(one)
        folder = (_FOLDER / one).parent
        names = _IMPORT.findall((_FOLDER / one).read_text(encoding="utf-8"))
        left += [PurePosixPath((folder / name).resolve().relative_to(_FOLDER.resolve())).as_posix() for name in names]
    return found


def test_the_first_paint_stays_small() -> None:
    modules = _imported("app.js") | _imported("screens/now.js")
    assert "lib/live.js" in modules, "the imports are found"
    own = sum(_SIZES[path] for path in modules if not path.startswith("vendor/"))
    first = {"index.html", "icon.svg", "style.css"} | modules
    assert own <= 40 * _KB
    assert _SIZES["style.css"] <= 8 * _KB
    assert sum(_SIZES[path] for path in first) <= 55 * _KB


def test_the_index_names_all_modules_of_the_first_paint_so_that_they_load_at_once() -> None:
    index = (_FOLDER / "index.html").read_text(encoding="utf-8")
    modules = (_imported("app.js") | _imported("screens/now.js")) - {"app.js"}
    assert set(re.findall(r'"modulepreload" href="DIGEST/([^"]+)"', index)) == modules


def test_all_stays_small() -> None:
    assert sum(size for path, size in _SIZES.items() if path.endswith((".html", ".css", ".js", ".svg"))) <= 100 * _KB
