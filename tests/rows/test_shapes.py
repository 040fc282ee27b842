"""A changed shape without another version, and a changed message, are told with what to do."""

from copy import deepcopy
from typing import Any
from unittest import mock

import pytest

from tests.rows.kept import KeptRelease, releases
from tests.rows.messages import READERS, complaints_about_messages, messages_now, with_more
from tests.rows.shapes import KINDS, complaints, shapes_now
from timeball.aws.dynamodb.store import store_over
from timeball.aws.dynamodb.table.collection import TableAccess
from timeball.aws.dynamodb.table.mapper import Mapper
from timeball.aws.dynamodb.table.shapes import Shape, Shapes
from timeball.domain.model.runs.run import Run
from timeball.domain.model.tenants.key import Key
from timeball.domain.model.tenants.session import Session
from timeball.domain.model.tenants.tenant import Tenant


class AskedFor(dict[type, Shape]):
    """Shapes that note the kinds for which the adapter asks."""

    def get(self, kind: type, default: Any = None) -> Any:
        self[kind] = default
        return default


def test_the_shape_of_each_kind_of_row_is_kept() -> None:
    """A kind of row that is new in the adapter belongs into KINDS."""
    asked: Any = AskedFor()
    store_over(TableAccess(mock.Mock(), mock.Mock(), Mapper(), mock.Mock(), shapes=asked))
    assert {*asked} | {Tenant, Key, Session} == {*KINDS}


def test_a_row_has_the_shape_that_a_sealed_release_wrote_or_another_version() -> None:
    """A release that is not sealed is not deployed anywhere: its shapes may change."""
    sealed = [kept for kept in map(KeptRelease.read, releases()) if kept.is_sealed]
    found = [one for kept in sealed for one in complaints(kept.shapes, kept.name)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", releases())
def test_a_message_has_what_a_release_sent_and_reads_as_it_did(name: str) -> None:
    kept, now = KeptRelease.read(name).messages, messages_now()
    found = [*complaints_about_messages(kept, name, now)]
    assert not found, "\n".join(found)
    assert {one for one, read in READERS.items() if one in kept and read(kept[one]) != read(now[one])} == set()


@pytest.mark.parametrize("name", READERS)
def test_a_reader_of_messages_does_without_keys_that_it_does_not_know(name: str) -> None:
    message = messages_now()[name]
    more = message if name == "event" else with_more(message)
    assert READERS[name](more if name != "match, put off" else {**message, "later": 1}) == READERS[name](message)


def _changed(**fields: str) -> dict[str, Any]:
    now: dict[str, Any] = deepcopy(dict(shapes_now()))
    now["Run"]["values"]["Run"] |= fields
    return now


def test_a_changed_shape_without_another_version_is_told_with_what_to_do() -> None:
    (said,) = complaints(shapes_now(), "v9", now=_changed(owner="int = 0"))
    assert said.startswith("The shape of Run rows has changed since v9, and their version has not")
    assert "Raise its version in SHAPES" in said
    assert said.endswith("Changed: Run.owner")


def test_a_value_within_a_row_counts() -> None:
    now: Any = deepcopy(dict(shapes_now()))
    now["Job"]["values"]["RetryPolicy"]["factor"] = "float = 3.0"
    now["Job"]["values"]["Priority"]["one of"] += " urgent"
    (said,) = complaints(shapes_now(), "v9", now=now)
    assert said.endswith("Changed: Priority.one of, RetryPolicy.factor")


def test_a_raised_version_needs_a_reader_of_the_former_one() -> None:
    raised: Shapes = {Run: Shape(2)}
    (said,) = complaints(shapes_now(), "v9", raised)
    assert said == "v9 has Run rows of version 1, and Shape.readers of Run in SHAPES has no reader of it."
    assert not [*complaints(shapes_now(), "v9", {Run: Shape(2, {1: dict})})]


def test_a_message_that_lacks_a_key_is_told() -> None:
    now = messages_now()
    less = {**now, "watch": {name: value for name, value in now["watch"].items() if name != "look"}}
    (said,) = complaints_about_messages(now, "v9", less)
    assert said.startswith("The message 'watch' of v9 has .look as int, today's has nothing")
    other = {**now, "run": {**now["run"], "not_before": "soon"}}
    assert len([*complaints_about_messages(now, "v9", other)]) == 1
    assert not [*complaints_about_messages(now, "v9", {**now, "run": {**now["run"], "later": 1}})]
