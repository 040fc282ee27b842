"""Rows are written and read by what the codec learned once from their classes; it caches nothing else about a value."""

from dataclasses import dataclass, field, replace
from enum import StrEnum

from tests.engine.play import NOW, Play, spec
from timeball.aws.dynamodb.table.codec import from_item, to_item
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Job, with_spec
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.schedule import Every


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Part:
    name: str
    count: int = 0


@dataclass(frozen=True)
class Whole:
    """A class that a later change may add: no line of the codec knows it."""

    name: str
    colour: Colour = Colour.RED
    part: Part | None = None
    parts: tuple[Part, ...] = ()
    nothing: int | None = None
    none: int = 0
    seven: int = 7
    is_on: bool = True
    part_by_default: Part = field(default_factory=lambda: Part("default"))


WHOLES = {
    # A value, and its row.
    "as by default": (Whole("a"), {"name": "a", "colour": "red", "seven": 7, "is_on": True}),
    "other than by default": (
        Whole("b", Colour.BLUE, Part("p", 2), (Part("q"),), 0, 1, 0, is_on=False, part_by_default=Part("r")),
        {
            "name": "b",
            "colour": "blue",
            "part": '{"name":"p","count":2}',
            "parts": '[{"name":"q"}]',
            "nothing": 0,
            "none": 1,
            "seven": 0,
            "is_on": False,
            "part_by_default": '{"name":"r"}',
        },
    ),
    "with what is empty": (
        Whole("", part=Part(""), part_by_default=Part("default")),
        {"name": "", "colour": "red", "part": '{"name":""}', "seven": 7, "is_on": True},
    ),
}


def test_a_value_becomes_its_row_and_the_row_its_value_whatever_was_written_before() -> None:
    for _ in range(2):
        for value, row in WHOLES.values():
            assert to_item(value) == row
            assert from_item(Whole, row) == value
            assert to_item(replace(value)) == row


def test_a_field_that_the_key_contains_is_left_out_of_the_row() -> None:
    assert "name" not in to_item(Whole("a"), "name")
    assert from_item(Whole, {}, name="a") == Whole("a")


def test_jobs_with_equal_or_identical_parts_are_written_independently() -> None:
    first, second = Play().store_jobs([spec("first", Every(60, NOW)), spec("second", Every(90, NOW))])
    first, second = with_spec(first, work=None), with_spec(second, work=None)
    mixed = [first, evolve(first, due_at=NOW), second, first, with_spec(second, overlap=OverlapPolicy.SKIP), second]
    for job in mixed:
        assert from_item(Job, to_item(job)) == job
