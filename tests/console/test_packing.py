"""The console's files: packed by one digest, and served from memory with the headers that keep foreign code out."""

import base64
import gzip
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from infra.vendor import ROOT as VENDOR
from infra.vendor import VENDORED
from tests.api.client import event_of
from timeball.console.packing import ServedFile, pack, served_in, unpack
from timeball.console.serving import HEADERS, answer
from timeball.testing.gateway import sent_body

INDEX = '<link rel="stylesheet" href="DIGEST/a.css"><script type="module" src="DIGEST/lib/a.js"></script>'
SCRIPT = "export const one = 1;\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "lib").mkdir()
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "index.html").write_text(INDEX)
    (tmp_path / "a.css").write_text("a { color: red }")
    (tmp_path / "lib/a.js").write_text(SCRIPT)
    for name in ("package.json", "node_modules/b.js", "README.md", ".npmrc"):
        (tmp_path / name).write_text("secret")
    return tmp_path


@pytest.fixture
def pages(folder: Path) -> dict[str, ServedFile]:
    return dict(unpack(pack(folder)))


def ask(pages: dict[str, ServedFile], path: str, method: str = "GET", **headers: str) -> dict[str, Any]:
    event = event_of(method, path, None, {name.replace("_", "-"): value for name, value in headers.items()}, {})
    return answer(pages, event)


def digest_of(pages: dict[str, ServedFile]) -> str:
    return next(path for path in pages if path.endswith("a.css")).partition("/")[0]


def test_pages_alone_are_served(pages: dict[str, ServedFile]) -> None:
    digest = digest_of(pages)
    assert set(pages) == {"", "/", f"{digest}/a.css", f"{digest}/lib/a.js"}


def test_the_index_names_the_files_from_either_of_its_addresses(pages: dict[str, ServedFile]) -> None:
    digest = digest_of(pages)
    for path, prefix in (("/console", "console/"), ("/console/", ""), ("/mapped/console/", "")):
        text = sent_body(ask(pages, path)).decode()
        assert re.findall('(?:href|src)="([^"]+)"', text) == [f"{prefix}{digest}/a.css", f"{prefix}{digest}/lib/a.js"]


def test_a_gateway_may_drop_the_slash_of_the_index(pages: dict[str, ServedFile]) -> None:
    asked, forwarded = "/console/", "/console"
    (style, _) = re.findall('(?:href|src)="([^"]+)"', sent_body(ask(pages, forwarded)).decode())
    assert ask(pages, asked + style)["statusCode"] == 200


def test_any_change_of_a_file_changes_the_paths_of_all(folder: Path, pages: dict[str, ServedFile]) -> None:
    assert digest_of(dict(unpack(pack(folder)))) == digest_of(pages)
    (folder / "lib/a.js").write_text("export const two = 2;\n")
    assert digest_of(dict(unpack(pack(folder)))) != digest_of(pages)


def test_files_are_kept_for_ever_and_the_index_is_asked_for_again(pages: dict[str, ServedFile]) -> None:
    index, script = ask(pages, "/console/"), ask(pages, f"/console/{digest_of(pages)}/lib/a.js")
    assert index["headers"]["Cache-Control"] == "no-cache"
    assert "immutable" in script["headers"]["Cache-Control"]
    assert script["headers"]["Content-Type"] == "text/javascript; charset=utf-8"
    again = ask(pages, "/console/", if_none_match=f"W/{index['headers']['ETag']}")
    assert (again["statusCode"], again["body"]) == (304, "")
    assert ask(pages, "/console/", if_none_match='"another"')["statusCode"] == 200


def test_a_browser_gets_the_compressed_file_and_others_the_plain_one(pages: dict[str, ServedFile]) -> None:
    path = f"/console/{digest_of(pages)}/lib/a.js"
    zipped, plain = ask(pages, path, accept_encoding="br, gzip"), ask(pages, path)
    assert gzip.decompress(base64.b64decode(zipped["body"])) == SCRIPT.encode() == sent_body(plain)
    assert zipped["headers"]["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain["headers"]
    assert zipped["headers"]["Vary"] == plain["headers"]["Vary"] == "Accept-Encoding"


@pytest.mark.parametrize(
    "path",
    [
        "/console/index.html",
        "/console/a.css",
        "/console/../console/package.json",
        "/console/{digest}/../package.json",
        "/console/{digest}/..%2f..%2fetc/passwd",
        "/console//{digest}/a.css/",
        "/console/{digest}/",
        "/console/{digest}",
        "/console/0000000000000000/a.css",
        "/console/console/",
        "/console/console",
        "/consoles",
        "/console/\x00",
    ],
)
def test_any_other_path_is_not_found(pages: dict[str, ServedFile], path: str) -> None:
    found = ask(pages, path.replace("{digest}", digest_of(pages)))
    assert found["statusCode"] == 404
    assert found["headers"]["Cache-Control"] == "no-store"


def test_pages_are_read_and_nothing_else(pages: dict[str, ServedFile]) -> None:
    head = ask(pages, "/console/", "HEAD")
    assert (head["statusCode"], head["body"]) == (200, "")
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        refused = ask(pages, "/console/", method)
        assert (refused["statusCode"], refused["headers"]["Allow"]) == (405, "GET, HEAD")


def test_each_answer_keeps_foreign_code_out(pages: dict[str, ServedFile]) -> None:
    etag = ask(pages, "/console/")["headers"]["ETag"]
    for found in (ask(pages, "/console/"), ask(pages, "/console/x"), ask(pages, "/console/", "POST")):
        assert HEADERS.items() <= found["headers"].items()
    assert HEADERS.items() <= ask(pages, "/console/", if_none_match=etag)["headers"].items()
    policy = dict(part.strip().split(" ", 1) for part in HEADERS["Content-Security-Policy"].split(";"))
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "connect-src": "'self'",
        "img-src": "'self' data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }


def test_the_libraries_are_those_that_the_lock_names() -> None:
    facts = json.loads((VENDOR / "vendored.json").read_text())
    locked = json.loads((VENDOR / "package-lock.json").read_text())["packages"]
    assert set(facts) == set(VENDORED)
    for name, fact in facts.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == fact["sha256"], name
        package = locked[f"node_modules/{fact['package']}"]
        assert (fact["version"], fact["licence"]) == (package["version"], package["license"]), name


def test_the_licence_of_each_library_is_served() -> None:
    locked = json.loads((VENDOR / "package-lock.json").read_text())["packages"]
    licences = (VENDOR / "licences.txt").read_text()
    for path, package in locked.items():
        if path:
            name = path.removeprefix("node_modules/")
            assert f"{name} {package['version']} ({package['license']})\n" in licences
            assert package["license"] in {"MIT", "Apache-2.0"}, name
    assert "vendor/licences.txt" in dict(served_in(VENDOR.parent))
