"""All freezes of a tenant share one row, and DynamoDB accepts no row of more than 400 KB."""

from timeball.aws.dynamodb.table.codec import to_text
from timeball.domain.model.jobs.freeze import (
    MAX_FREEZES,
    Freeze,
    FreezeMatch,
    Freezes,
    has_room_for,
    with_freeze,
    without_freeze,
)

_ROW_BYTES = 400 * 1024
_JOBS = tuple(f"{number:064d}" for number in range(100))
_TAGS = {f"{number}".ljust(128, "\\"): "\\" * 256 for number in range(10)}
"""A backslash is written as two."""


def test_the_largest_freezes_fit_into_a_row_and_a_tenant_can_still_be_stopped() -> None:
    for match in (FreezeMatch(job_ids=_JOBS, tags=_TAGS), FreezeMatch(tags=_TAGS), FreezeMatch(job_ids=("j",) * 100)):
        freezes = Freezes("acme")
        for now in range(10, 400):
            freeze = Freeze(f"frz_{now:026d}", now, None, match, now, "\\" * 200)
            if not has_room_for(freezes, freeze, now):
                freezes = without_freeze(freezes, freezes.open_at(now)[-1].name, now)
            assert has_room_for(freezes, freeze, now)
            freezes = with_freeze(freezes, freeze, now)
        assert 0 < len(freezes.open_at(400)) <= MAX_FREEZES < len(freezes.items) + MAX_FREEZES
        stopped = with_freeze(
            freezes, Freeze("stop", 400, None, FreezeMatch(everything=True), 400, stops_all=True), 400
        )
        assert stopped.stop_at(400) is not None
        assert len(to_text(stopped.items).encode()) < _ROW_BYTES - 1_000
