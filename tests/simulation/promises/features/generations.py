"""Promises about jobs that were put again after they had ended. ledger.py has those about each generation's rows."""

from collections.abc import Iterator

from tests.simulation.story import Story
from timeball.domain.model.ids import JobKey, RunId
from timeball.engine.changes.change import Changed, ChangeOutcome


def _nothing_of_an_earlier_generation_is_called(story: Story) -> Iterator[str]:
    """After the answer to the PUT. That answer names the runs that were claimed: their present attempts may call."""
    stood_at: dict[tuple[JobKey, int], int] = {}
    claimed: set[RunId] = set()
    for done in story.done:
        answer = done.answer
        if done.verb == "put again" and isinstance(answer, Changed) and answer.outcome is ChangeOutcome.DONE:
            assert answer.job is not None
            stood_at.setdefault((done.job, answer.job.generation), done.at)
            claimed |= set(answer.claimed)
    for arrival in story.receiver.arrivals:
        run = arrival.run
        at = stood_at.get((run.job, run.generation + 1))
        if at is not None and arrival.at > at and run not in claimed:
            yield f"{run} attempt {arrival.attempt} was called {arrival.at - at} ms after the next generation stood"
    for write, before in story.store.history.claims():
        at = stood_at.get((before.id.job, before.id.generation + 1))
        if at is not None and write.at > at:
            yield f"{before.id} was claimed {write.at - at} ms after the next generation stood: {write}"


PROMISES = (_nothing_of_an_earlier_generation_is_called,)
