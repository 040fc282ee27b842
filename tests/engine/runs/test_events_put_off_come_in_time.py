"""Events put off come again when there is room for their runs: the documented pace, measured in virtual time."""

from dataclasses import replace

import pytest

from tests.engine.runs.shop import MANY, Shop
from timeball.domain.model.ids import JobKey
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.sharing.fairness import Pace
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.changes.change import cancel
from timeball.engine.events.receive import receive
from timeball.ports.counters import CountWindow, Windows
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap
from timeball.testing.faults import with_outages


@pytest.mark.parametrize(
    ("jobs", "events", "processes"),
    [
        (MANY, 60, 1),  # pages
        (10, 600, 1),  # events of few jobs
        (1, 1500, 1),  # events of one job, of which 250 are received in a second
        (MANY, 120, 3),
        pytest.param(MANY, 1000, 1, marks=pytest.mark.more),  # more than the longest delay of SQS holds
    ],
)
def test_a_process_makes_300_to_400_runs_at_once_and_then_a_hundred_a_second(
    jobs: int, events: int, processes: int
) -> None:
    shop = Shop(jobs)
    shop.send("noisy", events)
    made = shop.made_after(processes)
    assert len(made) == jobs * events
    at_once = len([second for second in made if second < 1])
    assert min(300, 250 * jobs) * processes <= at_once <= 400 * processes
    ideal = jobs * events / 100 / processes
    assert 0.9 * ideal - 4 <= made[-1] <= 1.1 * ideal + 4


@pytest.mark.parametrize(
    ("quotas", "events", "processes", "minutes"),
    [
        ({"runs_created_per_minute": 10}, 1, 1, 9),  # one event alone
        ({"runs_created_per_minute": 600}, 60, 1, 9),
        ({"runs_created_per_minute": 600}, 60, 3, 9),
        ({"runs_created_per_minute": 60}, 20, 1, 33),  # more than the longest delay of SQS holds
        ({"runs_created_per_minute": 100}, 30, 3, 29),
        ({"runs_per_second": 1}, 20, 3, 33),
    ],
)
def test_under_a_quota_each_minute_makes_what_it_may(
    quotas: dict[str, int], events: int, processes: int, minutes: int
) -> None:
    shop = Shop()
    shop.bound(**quotas)
    shop.send("noisy", events)
    made = shop.made_after(processes)
    assert len(made) == MANY * events
    assert 60 * (minutes - 1) <= made[-1] <= 60 * (1.15 * minutes + 1)


class _Asked:
    """Windows that count how often room is asked for."""

    def __init__(self, windows: Windows) -> None:
        self._windows, self.count = windows, 0

    def take(self, window: CountWindow, amount: int, most: int) -> bool:
        self.count += 1
        return self._windows.take(window, amount, most)


def test_a_process_asks_a_full_minute_for_room_only_near_its_beginning_and_its_end() -> None:
    shop = Shop(jobs=1)
    shop.bound(runs_created_per_minute=60)
    store = with_outages(shop.context.store, lambda *_: False)
    asked = _Asked(store.windows)
    shop.context = replace(shop.context, store=replace(store, windows=asked))
    shop.send("noisy", 600)
    assert len(shop.made_after()) == 600
    assert asked.count <= 600 + 10 * 10


def test_after_a_flood_a_small_excess_waits_for_seconds() -> None:
    shop = Shop()
    shop.send("noisy", 100)
    shop.made_after()
    shop.send("noisy", 8, "next-")
    assert shop.made_after()[-1] <= 8


def test_a_raised_quota_counts_for_events_that_wait_already() -> None:
    shop = Shop()
    shop.bound(runs_created_per_minute=4)
    shop.send("noisy", 20)
    shop.made_after(hours=1)
    (row,) = shop.play.store.freezes.read(["noisy"])
    assert row is not None
    shop.play.store.freezes.swap([Swap(row, replace(row, quotas=Quotas()))], shop.play.clock.now())
    assert shop.made_after()[-1] <= 15 * 60 + 20
    assert len(shop.runs("noisy")) == 20 * MANY


def test_runs_that_could_not_be_stored_do_not_count_in_the_pace() -> None:
    shop = Shop()
    shop.send("noisy", 4)
    failing = replace(shop.context, store=with_outages(shop.context.store, lambda name, _: name == "runs.insert"))
    with pytest.raises(UnavailableError):
        receive(failing, shop.bus, shop.bus.queue)
    assert failing.known is shop.context.known
    assert set(shop.context.known.paces.values()) <= {Pace()}
    shop.receive()
    assert len(shop.runs("noisy")) == 4 * MANY


def test_a_run_that_waited_for_the_pace_alone_is_late_and_one_that_waited_for_a_quota_is_not() -> None:
    for quotas, is_excused in (({}, False), ({"runs_created_per_minute": 100_000}, True)):
        shop = Shop()
        shop.bound(**quotas)
        shop.send("noisy", 10)
        shop.made_after()
        last = max(shop.runs("noisy"), key=lambda run: run.created_at)
        assert last.created_at > last.id.fire_at + SECOND_MS
        assert (last.gate_waits.quota > 0) == is_excused


def test_a_job_that_gets_the_pattern_while_an_event_waits_runs_if_its_id_comes_after_those_that_ran() -> None:
    shop = Shop(jobs=99)
    shop.bound(runs_created_per_minute=40)
    shop.send("noisy", 1)
    shop.receive()
    shop.submit("noisy", ["job-999"])
    cancel(shop.context, [(JobKey("noisy", "job-098"), None)])
    shop.submit("noisy", ["job-000-new"])
    shop.made_after()
    ran = {run.id.job.job_id for run in shop.runs("noisy")}
    assert ran == {*(f"job-{number:03}" for number in range(98)), "job-999"}


def test_events_that_few_open_jobs_are_left_to_hear_count_for_those_alone() -> None:
    shop = Shop()
    cancel(shop.context, [(JobKey("noisy", f"job-{number:03}"), None) for number in range(1, MANY)])
    shop.send("noisy", 1500)
    assert 10 <= shop.made_after()[-1] <= 20
