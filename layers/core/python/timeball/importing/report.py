"""The report of an import: a line for each definition, with its sentences below.

Invariant: nothing is dropped in silence. A definition has a job or a reason, and each difference of the fires is listed
or counted.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.zones import load_zone
from timeball.importing.comparing import Comparison, Difference
from timeball.importing.definitions import Found, ImportedJob

_LISTED: Final = 5
_TIMES: Final = {0: "not at all", 1: "once", 2: "twice"}


def report(found: Sequence[Found], comparisons: Sequence[Comparison | None]) -> Iterator[str]:
    """Yield the lines; `comparisons` has one entry for each definition, None where there is no job."""
    for one, comparison in zip(found, comparisons, strict=True):
        if not isinstance(one, ImportedJob) or comparison is None:
            yield f"{one.where}: no job. {getattr(one, 'reason', '')}"
            continue
        name = one.origin.name
        if comparison.differences:
            count = len(comparison.differences)
            yield (
                f"{one.where}: {one.job_id} differs from {name} at {count} instant{'s' if count > 1 else ''} "
                f"of {_days(comparison)}, and fires {_fires(comparison.count)}."
            )
            yield from _differences(one, comparison.differences)
        else:
            yield f"{one.where}: {one.job_id} fires {_fires(comparison.count)} in {_days(comparison)}, as {name} would."
        if one.is_paused:
            yield "  It is switched off: pause the job after you have put it."
        yield from (f"  {note}" for note in one.notes)
    yield _sum(found, comparisons)


def is_equal(found: Sequence[Found], comparisons: Sequence[Comparison | None]) -> bool:
    """Say whether each definition became a job that fires as its origin would."""
    return all(
        isinstance(one, ImportedJob) and comparison is not None and not comparison.differences
        for one, comparison in zip(found, comparisons, strict=True)
    )


def _days(comparison: Comparison) -> str:
    return f"{comparison.days:.3g} days"


def _fires(count: int) -> str:
    return f"{count} time{'' if count == 1 else 's'}"


def _differences(job: ImportedJob, differences: Sequence[Difference]) -> Iterator[str]:
    zone = job.body.get("timezone", "UTC")
    for one in differences[:_LISTED]:
        yield (
            f"  {_local(one.at, zone)}: {job.origin.name} runs it {_times(one.origin)}, "
            f"the job fires {_times(one.job)}."
        )
    if len(differences) > _LISTED:
        yield f"  ... and at {len(differences) - _LISTED} more, the last at {_local(differences[-1].at, zone)}."


def _times(count: int) -> str:
    return _TIMES.get(count, f"{count} times")


def _local(at: int, name: str) -> str:
    zone = load_zone(name)
    instant = at // SECOND_MS
    offset = timezone(timedelta(seconds=zone.offsets[zone.period_at(instant)]))
    return datetime.fromtimestamp(instant, UTC).astimezone(offset).isoformat(timespec="minutes")


def _sum(found: Sequence[Found], comparisons: Sequence[Comparison | None]) -> str:
    jobs = sum(isinstance(one, ImportedJob) for one in found)
    differ = sum(comparison is not None and bool(comparison.differences) for comparison in comparisons)
    words = f"{len(found)} definition{'' if len(found) == 1 else 's'}: {jobs} job{'' if jobs == 1 else 's'}"
    return f"{words}, {len(found) - jobs} without one, {differ} that differ{'s' if differ == 1 else ''}."
