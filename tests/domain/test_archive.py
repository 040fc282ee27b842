"""The objects of the archive: one for each tenant, kind and hour, under names that a repeated batch makes again."""

from dataclasses import replace

import pytest

from timeball.domain.archive import ArchiveLine, LineKind, objects_of
from timeball.domain.time.instants import HOUR_MS, parse_instant

AT = parse_instant("2026-11-24T05:30:07Z")
LINE = ArchiveLine(LineKind.RUNS, "acme", AT, "w1", '{"n":1}')
FOLDER = "tenant=acme/runs/day=2026-11-24/hour=05/"


def test_lines_of_one_tenant_kind_and_hour_are_one_object_in_their_order() -> None:
    (one,) = objects_of([LINE, replace(LINE, write="w2", text='{"n":2}')])
    assert one.text == '{"n":1}\n{"n":2}\n'
    assert one.key.startswith(f"{FOLDER}1807-")  # 30 minutes and 7 seconds after the hour
    assert one.key.endswith(".jsonl.gz")


@pytest.mark.parametrize(
    ("other", "folder"),
    [
        ({"tenant": "globex"}, "tenant=globex/runs/day=2026-11-24/hour=05/"),
        ({"kind": LineKind.CHANGES}, "tenant=acme/changes/day=2026-11-24/hour=05/"),
        ({"kind": LineKind.ATTEMPTS}, "tenant=acme/attempts/day=2026-11-24/hour=05/"),
        ({"at": AT + HOUR_MS}, "tenant=acme/runs/day=2026-11-24/hour=06/"),
        ({"at": AT + 19 * HOUR_MS}, "tenant=acme/runs/day=2026-11-25/hour=00/"),
    ],
)
def test_other_lines_go_into_other_objects(other: dict[str, object], folder: str) -> None:
    mixed = [LINE, replace(LINE, **other, write="w2"), replace(LINE, write="w3")]  # type: ignore[arg-type]
    assert {one.key.rpartition("/")[0] + "/": one.text.count("\n") for one in objects_of(mixed)} == {
        FOLDER: 2,
        folder: 1,
    }


def test_a_batch_that_comes_again_makes_the_same_objects_and_another_batch_others() -> None:
    lines = [replace(LINE, write=f"w{number}") for number in range(4)]
    whole, halves = objects_of(lines), [*objects_of(lines[:2]), *objects_of(lines[2:])]
    assert objects_of(lines) == whole
    assert len({one.key for one in [*whole, *halves]}) == 3


def test_no_line_is_no_object() -> None:
    assert objects_of([]) == []
