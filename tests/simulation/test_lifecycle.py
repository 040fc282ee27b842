"""Lifecycle events beside stories: whatever batches fail and come again, a receiver can follow each run to its end."""

import json
from collections import defaultdict
from itertools import pairwise
from random import Random
from typing import Any

from infra.lifecycle import patterns
from infra.settings import PREFIX, Settings
from tests.simulation.play import play
from tests.streams import Tape, passes
from timeball.api.lifecycle import event_of
from timeball.aws.dynamodb.stream import read_move
from timeball.domain.lifecycle import TYPES, LifecycleEvent, is_of_notice
from timeball.domain.model.runs.run import MOVES, RunState
from timeball.testing.recorders import MemoryLifecycle

_MOST_RECORDS = 12


def _events(records: list[dict[str, Any]]) -> list[LifecycleEvent]:
    writes = [write for record in records if (write := read_move(record)) is not None]
    return [one for write in writes if (one := event_of(write, TYPES, (), None)) is not None]


def _deliver(records: list[dict[str, Any]], bus: MemoryLifecycle, draw: Random) -> None:
    """Deliver records as Lambda does: batch after batch, and again what the bus may not have taken."""
    begin = 0
    while begin < len(records):
        end = begin + draw.randint(1, _MOST_RECORDS)
        bus.silent = draw.choice((0, 0, 1, 3))
        outcomes = bus.publish(_events(records[begin:end]))
        if not any(outcomes):
            begin = end


def _received(bus: MemoryLifecycle) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return the events of each run as a receiver keeps them: each id once, in the order of `sequence`."""
    by_id = {(one["source"], one["id"]): one for one in (json.loads(event.detail) for event in bus.events)}
    found = defaultdict(list)
    for one in sorted(by_id.values(), key=lambda one: str(one["sequence"])):
        found[one["tenant"], one["subject"]].append(one)
    return found


def _state(event: dict[str, Any]) -> RunState:
    word = event["type"].removeprefix("timeball.run.")
    return RunState.QUEUED if word == "blocked" else RunState(word)


def test_a_receiver_that_drops_doubles_sees_each_run_move_legally_to_where_it_stands() -> None:
    wanted = [*patterns(Settings.read({f"{PREFIX}lifecycle_events": "run.*"}))]
    doubles, runs = 0, 0
    for seed in range(3):
        story, draw, tape, bus = play(seed), Random(seed), Tape(), MemoryLifecycle()
        for write in story.store.history.runs:
            tape.run(write.before, write.after, write.at)
        _deliver([record for record in tape.records if passes(record, wanted)], bus, draw)
        received = _received(bus)
        for run in story.store.runs.values():
            told = received.pop((run.id.job.tenant, str(run.id)), [])
            if is_of_notice(run.id.job.job_id):
                assert told == []
                continue
            states = [_state(event) for event in told]
            assert states[-1] is run.state
            assert all(after is before or after in MOVES[before] for before, after in pairwise(states))
            assert told[-1]["data"]["attempt"] == run.attempt
            runs += 1
        doubles += len(bus.events) - len({event.detail for event in bus.events})
    assert runs > 50
    assert doubles > 0
