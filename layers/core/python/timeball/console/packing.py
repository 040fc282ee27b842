"""Pack the folder of the console's pages for its function: one JSON text with each file, compressed beforehand.

One digest of all files is part of the path of each, so the files may be cached forever, and modules that import each
other by relative paths are always of one version. Only the index has a path of its own, and names the digest.
"""

import base64
import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

INDEX: Final = "index.html"
DIGEST: Final = "DIGEST/"
"""Stands in the index before the name of each file."""
_DIGITS: Final = 16

_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
"""The types of the files that are served; no other file is."""


@dataclass(frozen=True)
class ServedFile:
    """A file as it is served."""

    content_type: str
    zipped: str
    """Its bytes, compressed by gzip, in base64: as the function answers them."""
    etag: str


def served_in(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the path below the folder, and the file, of each file that is served, in the order of paths."""
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder)
        if file.suffix in _TYPES and "node_modules" not in path.parts:
            yield path.as_posix(), file


def pack(folder: Path) -> str:
    """Return the files of a folder as JSON, which `unpack` reads."""
    contents = {path: file.read_bytes() for path, file in served_in(folder)}
    whole = hashlib.sha256()
    for path, content in contents.items():
        whole.update(f"{path}\n{hashlib.sha256(content).hexdigest()}\n".encode())
    digest = whole.hexdigest()[:_DIGITS]
    index = contents.pop(INDEX).decode()
    packed = {f"{digest}/{path}": _packed(path, content) for path, content in contents.items()}
    packed["/"] = _packed(INDEX, index.replace(DIGEST, f"{digest}/").encode())
    packed[""] = _packed(INDEX, index.replace(DIGEST, f"console/{digest}/").encode())
    return json.dumps(packed)


def unpack(text: str) -> Mapping[str, ServedFile]:
    """Return each packed file by what follows `/console/` in its path; "/" and "" are the index."""
    return {path: ServedFile(*fields) for path, fields in json.loads(text).items()}


def _packed(path: str, content: bytes) -> tuple[str, str, str]:
    zipped = gzip.compress(content, 9, mtime=0)
    etag = f'"{hashlib.sha256(content).hexdigest()[:_DIGITS]}"'
    return _TYPES[Path(path).suffix], base64.b64encode(zipped).decode(), etag
