"""A release that begins with the rows of another: what must hold some minutes later."""

from collections import Counter
from collections.abc import Iterator, Mapping

from tests.rows.kept import KeptRelease
from tests.rows.world import Row, World
from timeball.aws.dynamodb.table import keys
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.runs.run import RunState
from timeball.domain.time.instants import MINUTE_MS, parse_instant

_GOES_ON_MS = 7 * MINUTE_MS
_OVER = {RunState.SUCCEEDED, RunState.FAILED, RunState.SKIPPED, RunState.CANCELLED}


def run_on_old_rows(world: World, kept: KeptRelease) -> list[str]:
    """Let the present code go on for some minutes from the rows and messages of a release; return what was wrong.

    The world's tables have the rows of the release.
    """
    tables, before = world.tables, _runs(kept.rows["jobs"])
    coming = [one for tenant in ("acme", "globex") for one in _coming(world, tenant)]
    world.send_again(kept.waiting)
    world.run_until(kept.at + _GOES_ON_MS)
    after = _runs(tables.rows()["jobs"])
    return [*_wrong(world, before, after), *_missing(coming, after), *_waiting(kept, after)]


def _wrong(world: World, before: Mapping[RunId, Row], after: Mapping[RunId, Row]) -> Iterator[str]:
    yield from (f"{run} is gone" for run in before.keys() - after.keys())
    calls = Counter((call.run, call.attempt) for _, call in world.caller.calls)
    yield from (f"{run} was called {times} times as {number}" for (run, number), times in calls.items() if times > 1)
    yield from (f"{run} was over, and called" for run, _ in calls if run in before and before[run]["state"] in _OVER)


def _missing(coming: list[tuple[JobKey, int]], after: Mapping[RunId, Row]) -> Iterator[str]:
    if not coming:
        yield "no fire comes"
    for job, at in coming:
        if not any(run.job == job and run.fire_at <= at <= row.get("last_fire_at", at) for run, row in after.items()):
            yield f"{job} has no row at {at}"


def _waiting(kept: KeptRelease, after: Mapping[RunId, Row]) -> Iterator[str]:
    if not kept.waiting:
        yield "no message waits"
    for tenant, name in kept.waiting:
        run = RunId.parse(tenant, name)
        if run is None or after[run]["state"] == RunState.QUEUED:
            yield f"{name} waits for ever"


def _runs(rows: list[Row]) -> dict[RunId, Row]:
    named = [(keys.owner_of_row(row["pk"], row["sk"]), row) for row in rows if row["sk"].startswith(keys.RUN)]
    return {run: row for run, row in named if isinstance(run, RunId)}


def _coming(world: World, tenant: str) -> Iterator[tuple[JobKey, int]]:
    """Yield the fires of the next minutes that will run, as the API announces them."""
    until = world.now + _GOES_ON_MS - MINUTE_MS
    for one in world.send("GET", "/v1/upcoming", tenant=tenant)["items"]:
        at = parse_instant(one["fireTime"])
        if at < until and one.get("willRun", True):
            yield JobKey(tenant, one["jobId"]), at
