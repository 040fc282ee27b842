"""The archive beside stories: whatever batches come, fail and come again, each run is there as it ended last."""

from random import Random
from typing import Any

from infra.archive import PATTERNS
from tests.simulation.play import play
from tests.simulation.story import Story
from tests.streams import Tape, lines_about, newest, passes
from timeball.domain.archive import LineKind, objects_of
from timeball.domain.model.ids import RunId
from timeball.ports.errors import UnavailableError
from timeball.testing.recorders import MemoryArchive

_MOST_RECORDS = 12


def _deliver(records: list[dict[str, Any]], tape: Tape, archive: MemoryArchive, draw: Random) -> None:
    """Deliver the records of one shard as Lambda does: in order, again if that failed, then perhaps in halves."""
    begin = 0
    while begin < len(records):
        end = begin + draw.randint(1, _MOST_RECORDS)
        pending = [records[begin:end]]
        while pending:
            batch = pending.pop(0)
            archive.refuses = draw.randint(0, 3) == 0
            try:
                archive.put(objects_of(lines_about(batch, tape.works)))
            except UnavailableError:
                half = len(batch) // 2
                pending[:0] = [batch[:half], batch[half:]] if half and draw.random() < 0.5 else [batch]
            else:
                if draw.random() < 0.1:  # done, but Lambda did not hear of it
                    pending.insert(0, batch)
        begin = end


def _lines(archive: MemoryArchive) -> list[str]:
    return [line for key, text in archive.objects.items() if "/runs/" in key for line in text.splitlines()]


def _as_stored(story: Story) -> dict[tuple[str, str], dict[str, Any]]:
    """Return what the archive must show of each ended run of a story's store."""
    tape = Tape()
    for one in story.store.runs.values():
        tape.run(None, one, 0)
    return newest(line.text for line in tape.lines() if line.kind is LineKind.RUNS)


def test_each_run_of_a_story_is_in_the_archive_as_it_ended_last_and_a_reader_finds_it_once() -> None:
    archived, runs = 0, 0
    for seed in range(12):
        story, draw, tape, archive = play(seed), Random(seed), Tape(), MemoryArchive()
        for write in story.store.history.runs:
            tape.run(write.before, write.after, write.at)
        given = [record for record in tape.records if passes(record, PATTERNS)]
        for shard in range(2):
            of_shard = [record for record in given if len(record["dynamodb"]["Keys"]["pk"]["S"]) % 2 == shard]
            _deliver(of_shard, tape, archive, draw)
        found, ended = newest(_lines(archive)), _as_stored(story)
        for name, line in ended.items():
            assert {**found[name], "linePosition": ""} == {**line, "linePosition": ""}
        for tenant, run_id in found.keys() - ended.keys():  # it was run again, and has not ended since
            run = RunId.parse(tenant, run_id)
            assert run is not None
            assert not story.store.runs[run].is_terminal
        archived, runs = archived + len(_lines(archive)), runs + len(ended)
    assert archived > runs > 100  # some lines were written twice
