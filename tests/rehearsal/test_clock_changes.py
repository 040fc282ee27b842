"""A rehearsal against a real receiver: what arrives is what was previewed, through both changes of the clocks."""

import socket
from pathlib import Path
from typing import Any

import pytest

from tests.effort import at_most
from tests.rehearsal.yearly import assert_as_previewed, rehearse


@pytest.fixture(autouse=True)
def _without_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process connect to this machine alone."""
    connect = socket.socket.connect

    def connect_here(self: socket.socket, address: Any) -> None:
        assert address[0] in ("127.0.0.1", "::1"), f"{address} is not on this machine"
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect_here)


@pytest.mark.parametrize("start", ["2027-03-28T00:00Z", "2027-10-30T22:00Z"])
def test_each_previewed_fire_of_a_clock_change_arrives_once_and_in_order(start: str, tmp_path: Path) -> None:
    expected, got = rehearse(start, 1, tmp_path / "noted")
    assert len(got) > 100
    assert_as_previewed(expected, got)


@pytest.mark.more
@pytest.mark.alone
def test_each_previewed_fire_of_a_year_arrives_once_and_in_order_within_two_minutes(tmp_path: Path) -> None:
    with at_most(yardsticks=120_000):  # two minutes of a fast processor; the receiver has another one
        expected, got = rehearse("2027-01-01T00:00Z", 365, tmp_path / "noted")
    assert len(got) > 50_000
    assert_as_previewed(expected, got)
