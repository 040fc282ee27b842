"""Parallel calls in threads."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from timeball.engine.batches import SideBySide, Threads, one_after_the_other


@pytest.fixture
def threads() -> Iterator[Threads]:
    with ThreadPoolExecutor(1) as pool:
        yield Threads(pool)


def test_two_calls_run_in_parallel_and_their_answers_keep_the_order_of_the_calls(threads: Threads) -> None:
    together = threading.Barrier(2, timeout=30)

    def meets(answer: str) -> str:
        together.wait()
        return answer

    assert threads([lambda: meets("first"), lambda: meets("second")]) == ["first", "second"]
    assert threads([lambda: "only"]) == ["only"]


def test_the_error_of_a_call_is_raised_after_the_others_have_ended(threads: Threads) -> None:
    failed, ended = threading.Event(), list[str]()

    def fails() -> str:
        failed.set()
        raise ValueError("the first")

    def lasts() -> str:
        assert failed.wait(30)
        ended.append("the other")
        return ""

    with pytest.raises(ValueError, match="the first"):
        threads([fails, lasts])
    assert ended == ["the other"]
    with pytest.raises(ValueError, match="the first"):
        threads([lambda: "", fails])


@pytest.mark.parametrize("count", [1, 2, 3])
def test_sequential_calls_give_the_same_answers(count: int, threads: Threads) -> None:
    calls = [lambda number=number: number for number in range(count)]
    ways: list[SideBySide] = [threads, one_after_the_other]
    assert [way(calls) for way in ways] == [list(range(count))] * 2
