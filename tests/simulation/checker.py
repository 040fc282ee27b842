"""All checks of a finished story, by its store, its history and the targets' log.

Each promise is a generator of complaints; a story without complaints kept all promises.
"""

from collections.abc import Callable, Iterator, Sequence

from tests.simulation.promises import (
    answers,
    attempts,
    calls,
    ends,
    instants,
    ledger,
    missed,
    moves,
    records,
    releases,
    rewriting,
    sharing,
)
from tests.simulation.promises.features import (
    blackouts,
    events,
    executions,
    flow,
    generations,
    graphs,
    items,
    latest,
    lines,
    listings,
    named_cycles,
    notices,
    operations,
    quotas,
    removals,
    reruns,
    tasks,
)
from tests.simulation.story import Story

PROMISES: Sequence[Callable[[Story], Iterator[str]]] = (
    *moves.PROMISES,
    *attempts.PROMISES,
    *calls.PROMISES,
    *instants.PROMISES,
    *missed.PROMISES,
    *ledger.PROMISES,
    *sharing.PROMISES,
    *ends.PROMISES,
    *answers.PROMISES,
    *records.PROMISES,
    *rewriting.PROMISES,
    *releases.PROMISES,
    *events.PROMISES,
    *blackouts.PROMISES,
    *executions.PROMISES,
    *flow.PROMISES,
    *generations.PROMISES,
    *graphs.PROMISES,
    *items.PROMISES,
    *latest.PROMISES,
    *lines.PROMISES,
    *listings.PROMISES,
    *named_cycles.PROMISES,
    *notices.PROMISES,
    *operations.PROMISES,
    *quotas.PROMISES,
    *removals.PROMISES,
    *reruns.PROMISES,
    *tasks.PROMISES,
)
"""All promises that a story may break. The name of each is the sentence with which its complaints begin."""


def sentence(promise: Callable[[Story], Iterator[str]]) -> str:
    """Return the sentence of a promise."""
    return promise.__name__.replace("_", " ").strip()


def complaints(story: Story) -> list[str]:
    """Return all complaints about a story."""
    return [f"{sentence(promise)}: {text}" for promise in PROMISES for text in promise(story)]
