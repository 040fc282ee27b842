"""The cost of lists of runs and jobs, and of the present state, beside 10,000 jobs and 100,000 runs.

Thousands of the runs are notable.
"""

from collections import Counter

import pytest

from tests.effort import at_most
from tests.engine.runs.test_list_runs import MINUTE, NOW, query
from tests.engine.stats.full_store import JOBS, RUNS, FullStore
from timeball.domain.model.runs.notable import is_notable
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.usage.attention import Concern
from timeball.engine.kept_digests import FRESH_MS
from timeball.engine.now import Now, read_now
from timeball.engine.runs.list_runs import list_runs
from timeball.engine.scheduling.roster import LastEnds, Roster, read_last_ends, read_roster
from timeball.engine.scheduling.upcoming import MOST_JOBS

BY_NOW = 8
"""The units of reads that do not grow: freezes, the hour's counts, the last tick, and the due index of four shards."""


@pytest.fixture(scope="module")
def full() -> FullStore:
    return FullStore()


def _asked(full: FullStore) -> tuple[Now, float]:
    """Return the present state, and the read units that it took."""
    before = full.units
    found = read_now(full.context, "acme", {})
    return found, full.units - before + BY_NOW


def test_the_store_has_thousands_of_notable_runs_of_each_kind(full: FullStore) -> None:
    own = [run for run in full.store.runs.values() if run.id.job.tenant == "acme"]
    assert len(own) == JOBS * RUNS
    states = Counter(run.state for run in own if is_notable(run))
    assert min(states[state] for state in RunState) > 500
    assert min(states[RunState.FAILED], states[RunState.RUNNING]) > 1_500


@pytest.mark.parametrize("oldest_first", [False, True])
@pytest.mark.parametrize("states", [[RunState.FAILED], [RunState.RUNNING], [RunState.QUEUED, RunState.RETRYING]])
def test_a_page_of_notable_runs_takes_at_most_ten_units(
    full: FullStore,
    states: list[RunState],
    oldest_first: bool,  # noqa: FBT001 - pytest gives it
) -> None:
    asked, following = query(*states, oldest_first=oldest_first), None
    listed: list[Run] = []
    units: list[float] = []
    while not listed or following is not None:
        before = full.units
        page = list_runs(full.context, asked, 50, following)
        units.append(full.units - before)
        listed += page.runs
        following = page.following
    assert max(units) <= 10
    matching = [run for run in full.store.runs.values() if run.id.job.tenant == "acme" and run.state in states]
    assert [run.id for run in listed] == [
        run.id for run in sorted(matching, key=asked.position, reverse=not oldest_first)
    ]


@pytest.mark.more
def test_all_runs_of_ten_minutes_take_at_most_two_hundred_units_a_page(full: FullStore) -> None:
    asked, following = query(from_at=NOW - 5 * MINUTE, to_at=NOW + 5 * MINUTE), None
    listed: list[Run] = []
    while not listed or following is not None:
        before = full.units
        page = list_runs(full.context, asked, 200, following)
        assert full.units - before <= 200
        listed += page.runs
        following = page.following
    own = [run for run in full.store.runs.values() if run.id.job.tenant == "acme"]
    assert sorted(run.id for run in listed) == sorted(run.id for run in own if asked.has(run))
    assert len(listed) > 4 * JOBS


def test_a_digest_costs_a_unit_a_job_the_next_one_half_and_an_answer_that_finds_one_thirty(full: FullStore) -> None:
    first, (found, alone) = _digest(full), _asked(full)
    full.clock.advance(FRESH_MS)
    second, (again, _) = _digest(full), _asked(full)
    assert alone <= 30
    assert first <= 1.03 * JOBS  # a name costs a fortieth of half a unit, beside the halves of a row and a ledger
    assert second <= 0.7 * JOBS
    assert found.digest is not None
    assert again.digest is not None
    assert found.digest.needs_attention == again.digest.needs_attention != ()
    assert {one.kind for one in found.digest.needs_attention} == {Concern.FAILING}


def _digest(full: FullStore) -> float:
    """Make a digest; return what it costs besides the answers."""
    pages = [_asked(full) for _ in range(JOBS // MOST_JOBS + 1)]
    assert pages[-1][0].digest is not None
    assert pages[-1][0].digest.at == full.clock.now()
    _, alone = _asked(full)
    return sum(units - alone for _, units in pages)


@pytest.mark.parametrize("is_open", [False, True])
def test_rosters_cost_half_a_unit_a_job_and_a_page_that_finds_them_a_few(
    full: FullStore,
    is_open: bool,  # noqa: FBT001 - pytest gives it
) -> None:
    def read_both() -> tuple[Roster | None, LastEnds | None]:
        roster = read_roster(
            full.context, "acme", lambda jobs: {job.key: job.next_fire_at for job in jobs}, is_open=is_open
        )
        return roster, read_last_ends(full.context, "acme", is_open=is_open)

    before = full.units
    for _ in range(JOBS // MOST_JOBS):
        assert read_both() == (None, None)
    roster, ends = read_both()
    assert full.units - before <= 2 * 0.52 * JOBS
    assert roster is not None
    assert ends is not None
    assert len(roster.jobs) == len(roster.next_at) == len(ends.finished_at) == JOBS
    before = full.units
    assert read_both() == (roster, ends)
    assert full.units - before <= 3


def test_an_answer_takes_a_tenth_of_a_second_whether_or_not_it_makes_a_page_of_a_digest(full: FullStore) -> None:
    _digest(full)
    with at_most(100):
        _asked(full)
    full.clock.advance(FRESH_MS)
    pages = JOBS // MOST_JOBS + 1
    with at_most(100 * pages):
        assert all(_asked(full)[0].digest is not None for _ in range(pages))
