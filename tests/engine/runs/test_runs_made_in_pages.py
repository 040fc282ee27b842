"""Runs of events and fan-outs are made in pages: no tenant delays another, and no run is lost."""

from collections import Counter
from typing import Any

import pytest

from tests.engine.runs.shop import MANY, Shop, on_events
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.model.terms.event import Matched
from timeball.domain.planning.ledger import subscription_of
from timeball.domain.sharing.fairness import PAGE, most_made, page_of
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.engine.events.receive import receive
from timeball.testing.memory_services import MemoryBus


def test_another_tenants_event_waits_for_a_few_pages_of_runs_and_not_for_thirty_thousand() -> None:
    shop = Shop()
    shop.send("noisy", 300)
    shop.send("quiet", 1)
    for _ in range(31):
        shop.receive()
    assert len(shop.runs("quiet")) == 1
    assert len(shop.runs("noisy")) <= 5 * PAGE


def test_tenants_take_turns_within_a_batch() -> None:
    shop = Shop()
    shop.send("noisy", 9)
    shop.send("quiet", 1)
    shop.receive()
    assert len(shop.runs("quiet")) == 1
    assert len(shop.runs("noisy")) <= 5 * PAGE


def test_postponed_events_come_again_spread_over_time_and_none_is_lost() -> None:
    shop = Shop()
    shop.send("noisy", 50)
    for _ in range(5):
        shop.receive()
    delays = list(shop.bus.delays)
    assert delays == sorted(delays)
    assert delays[-1] > delays[0] > 0
    for _ in range(400):
        shop.play.clock.advance(SECOND_MS)
        shop.receive()
        if not shop.bus.queue:
            break
    runs = shop.runs("noisy")
    assert len(runs) == 50 * MANY
    assert len({run.id for run in runs}) == 50 * MANY


@pytest.mark.parametrize(
    ("quotas", "most"),
    [
        ({"runs_created_per_minute": 30}, 30),
        ({"runs_per_second": 1}, 60),
        ({"runs_created_per_minute": 3}, 3),
        ({"runs_created_per_minute": 90, "runs_per_second": 1}, 60),
    ],
)
def test_no_more_runs_are_made_in_a_minute_than_the_quota_allows(quotas: dict[str, int], most: int) -> None:
    shop = Shop()
    shop.bound(**quotas)
    assert most_made(Quotas(**quotas)) == most
    shop.send("noisy", 1)
    shop.made_after()
    minutes = Counter(run.created_at // MINUTE_MS for run in shop.runs("noisy"))
    assert max(minutes.values()) <= most
    assert sum(minutes.values()) == MANY
    assert shop.bus.queue == []
    least = most - most % page_of(most)
    assert max(minutes) - min(minutes) <= -(-MANY // least)


def test_a_run_that_its_quota_delayed_is_not_late() -> None:
    shop = Shop()
    shop.bound(runs_created_per_minute=60)
    shop.send("noisy", 1)
    while len(shop.runs("noisy")) < MANY:
        shop.receive()
        shop.play.clock.advance(SECOND_MS)
    first, *_, last = sorted(shop.runs("noisy"), key=lambda run: run.created_at)
    assert (first.gate_waits.until, first.gate_waits.quota) == (0, 0)
    assert (last.gate_waits.until, last.gate_waits.quota) == (last.created_at, last.created_at - last.id.fire_at)


def test_an_event_whose_rest_cannot_be_postponed_comes_again_and_makes_no_run_twice() -> None:
    class Full(MemoryBus):
        def put_off(self, matched: Any) -> list[bool]:
            return [False] * len(matched)

    shop = Shop()
    shop.bound(runs_created_per_minute=40)
    shop.send("noisy", 1)
    (message,) = shop.bus.queue
    shop.bus.__class__ = Full
    assert receive(shop.context, shop.bus, [message]) == [False]
    made = len(shop.runs("noisy"))
    assert 0 < made <= 40
    shop.bus.__class__ = MemoryBus
    shop.play.clock.advance(MINUTE_MS)
    assert receive(shop.context, shop.bus, [message]) == [True]
    assert len(shop.runs("noisy")) == made
    shop.play.clock.advance(MINUTE_MS)
    shop.bus.queue = shop.bus.queue[1:]
    shop.receive()
    assert len(shop.runs("noisy")) == min(2 * made, MANY)


def test_nothing_is_counted_for_a_tenant_without_quotas() -> None:
    shop = Shop()
    shop.send("noisy", 1)
    shop.receive()
    assert len(shop.play.store.windows) == 0  # type: ignore[arg-type]


def test_a_message_names_its_rule_its_event_and_the_job_after_which_it_continues() -> None:
    shop = Shop()
    shop.bound(runs_created_per_minute=40)
    shop.send("noisy", 1)
    (message,) = shop.bus.queue
    assert (message.after, message.again) == ("", False)
    shop.receive()
    (rest,) = shop.bus.queue
    assert rest == Matched(message.rule, message.event, "job-039", again=True)
    key = subscription_of(on_events("noisy", "job-000"))
    assert rest.rule.key == key
