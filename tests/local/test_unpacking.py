"""An archive that several callers need is unpacked once, completely; any other extraction works as usual."""

import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from timeball.dev.inside.unpacking import Unpacked


def _archive(folder: Path, name: str, **files: str) -> Path:
    path = folder / f"{name}.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(f"python/{file}", text)
    return path


def _unpacked(path: Path, kept: type[zipfile.ZipFile], target: Path) -> Path:
    target.mkdir()
    with kept(path) as archive:
        archive.extractall(target)
    return target


def test_simultaneous_callers_get_the_same_folder_each_by_its_own_link(tmp_path: Path) -> None:
    kept = Unpacked(tmp_path / "kept").archive_class()
    path = _archive(tmp_path, "layer", a="1", b="2")
    with ThreadPoolExecutor(8) as pool:
        targets = list(pool.map(lambda n: _unpacked(path, kept, tmp_path / f"target-{n}"), range(8)))
    assert {target.resolve() for target in targets} == {*(tmp_path / "kept").iterdir()}
    assert len({*(tmp_path / "kept").iterdir()}) == 1
    assert all((target / "python/a").read_text() == "1" for target in targets)


def test_another_archive_is_another_folder(tmp_path: Path) -> None:
    kept = Unpacked(tmp_path / "kept").archive_class()
    first = _unpacked(_archive(tmp_path, "one", a="1"), kept, tmp_path / "first")
    second = _unpacked(_archive(tmp_path, "two", a="2"), kept, tmp_path / "second")
    assert ((first / "python/a").read_text(), (second / "python/a").read_text()) == ("1", "2")


def test_a_folder_with_content_is_extracted_into_as_usual(tmp_path: Path) -> None:
    kept = Unpacked(tmp_path / "kept").archive_class()
    target = tmp_path / "target"
    target.mkdir()
    (target / "mine").write_text("x")
    with kept(_archive(tmp_path, "one", a="1")) as archive:
        archive.extractall(target)
    assert not target.is_symlink()
    assert {path.name for path in target.iterdir()} == {"mine", "python"}


def test_a_layer_is_replaced_by_an_empty_archive_that_links_to_its_files(tmp_path: Path) -> None:
    unpacked = Unpacked(tmp_path / "kept")
    layer = _archive(tmp_path, "layer", a="1").read_bytes()
    read = unpacked.by_reference(lambda name: layer if name == "layer" else None)
    reference = read("layer")
    assert reference is not None
    assert reference is read("layer")
    assert read("none") is None
    small = tmp_path / "small.zip"
    small.write_bytes(reference)
    assert zipfile.ZipFile(small).namelist() == []
    assert (_unpacked(small, unpacked.archive_class(), tmp_path / "target") / "python/a").read_text() == "1"
