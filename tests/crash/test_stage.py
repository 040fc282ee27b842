"""The basis of these tests: each write has points, pictures are complete, and equal pictures are one crash."""

from collections.abc import Callable
from typing import Protocol, get_origin, get_type_hints

import pytest

from tests.crash.stage import Stage
from tests.engine.play import NOW, Play, spec
from tests.engine.service import KEY, reschedule
from timeball.domain.time.schedule import At, Every
from timeball.engine.changes.change import cancel
from timeball.ports.queue import Inbox, Queue
from timeball.ports.store import Store
from timeball.testing.faults import LIST_WRITES, SINGLE_WRITES

READS = frozenset(
    {"read", "read_with_tasks", "between", "ledger", "dead_letters", "of_job", "of_run", "of_task", "of_owner"}
    | {
        "listed",
        "announced",
        "query",
        "read_oldest_days",
        "count",
        "count_open",
        "count_dead_letters",
        "sample",
        "sample_open",
        "children",
        "in_line",
        "last_tick",
        "ledgers",
        "newest",
        "notable",
        "ahead",
    }
    | {"depth"}  # a queue's
)
PORTS = [*dict.fromkeys(get_origin(kind) or kind for kind in get_type_hints(Store).values()), Queue, Inbox]


@pytest.mark.parametrize("port", PORTS)
def test_each_call_of_a_port_that_writes_has_its_points(port: type) -> None:
    calls = {name for one in port.__mro__ if one is not Protocol for name in vars(one) if not name.startswith("_")}
    assert calls
    assert calls - READS <= LIST_WRITES | SINGLE_WRITES
    assert not READS & (LIST_WRITES | SINGLE_WRITES)


def _cancel(play: Play) -> None:
    cancel(play.context(), [(KEY, None)])


def _reschedule(play: Play) -> None:
    reschedule(play, At(NOW + 4_000))


@pytest.mark.parametrize("verb", [Play.scan, _cancel, _reschedule])
def test_the_point_after_a_write_leaves_the_same_state_as_the_point_before_the_next_write(
    stage: Stage, verb: Callable[[Play], object]
) -> None:
    play = stage.play(NOW)
    play.store_jobs([spec("job", Every(2, NOW))])
    pictures = stage.pictures(play, verb)
    assert len(pictures) >= 6
    assert all(one.shows_what(other) for one, other in zip(pictures[1::2], pictures[2::2], strict=False))
    assert not pictures[0].shows_what(pictures[-1])


def _seen(play: Play) -> tuple[object, ...]:
    messages = [run for run, _ in play.messages()]
    return play.clock.now(), play.job(KEY), play.runs(KEY), messages, [*play.caller.calls]


def test_a_picture_restores_its_state_whatever_happened_since(stage: Stage) -> None:
    play = stage.play(NOW)
    play.caller.statuses = [500]
    play.store_jobs([spec("job", At(NOW))])
    play.scan()
    seen: list[tuple[object, ...]] = []

    def drain(play: Play) -> None:
        seen.append(_seen(play))
        play.drain()
        seen.append(_seen(play))

    first, *_, last = stage.pictures(play, drain)
    assert [_seen(stage.as_in(picture)) for picture in (first, last)] == seen
    stage.as_in(first).run_on(KEY)
    assert _seen(stage.as_in(first)) == seen[0]
