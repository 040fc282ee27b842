"""A folder of data keeps its port and its key, and one process at a time uses it."""

import socket
from pathlib import Path

import pytest

from timeball.dev.data import DataError, opened


def test_a_finished_deployment_keeps_its_port_and_its_key(tmp_path: Path) -> None:
    with opened(tmp_path / "new/data") as data:
        assert data.key == ""
        data.finish("tb_key")
        port = data.port
    with opened(tmp_path / "new/data") as again:
        assert (again.port, again.key) == (port, "tb_key")
    assert (tmp_path / "new/data/timeball.json").stat().st_mode & 0o077 == 0


def test_an_unfinished_deployment_leaves_nothing_that_is_used(tmp_path: Path) -> None:
    with opened(tmp_path) as data:
        (tmp_path / "timeball.json").write_text('{"port": 1, "key": "old"}')
        assert not data.kept().is_whole
    with opened(tmp_path) as again:
        assert again.key == ""


def test_no_other_user_reads_a_folder_that_is_made_or_a_state_that_an_earlier_release_left_open(tmp_path: Path) -> None:
    (tmp_path / "old/aws").mkdir(mode=0o755, parents=True)
    for folder in (tmp_path / "old", tmp_path / "new/data"):
        with opened(folder):
            assert (folder / "aws").stat().st_mode & 0o077 == 0
    assert (tmp_path / "new/data").stat().st_mode & 0o077 == 0


def test_the_mode_of_a_folder_that_was_there_is_left_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with opened(tmp_path):
        assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_a_second_process_is_refused_while_the_first_uses_the_folder(tmp_path: Path) -> None:
    with (
        opened(tmp_path),
        pytest.raises(DataError, match=r"Another Timeball uses .*: end it, or name"),
        opened(tmp_path, patience_seconds=0),
    ):
        pass


def test_a_port_that_another_program_uses_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as data:
        data.finish("tb_key")
    with socket.socket() as other:
        other.bind(("127.0.0.1", data.port))
        other.listen()
        with pytest.raises(DataError, match=rf"port {data.port}, which another program uses"), opened(tmp_path):
            pass


def test_a_path_that_is_no_folder_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"cannot hold the data: .*\. Name another folder"), opened(tmp_path / "file/x"):
        pass
