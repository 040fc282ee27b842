"""Eras: a row for each deployment that plans otherwise than the one before."""

from dataclasses import replace

from tests.engine.play import NOW, Play
from timeball.domain.planning.era import DEPLOYMENT
from timeball.engine.context import Context
from timeball.engine.scanning.eras import era_at, note_era


def context(play: Play, **rules: int) -> Context:
    """Return the context of a new process with other settings."""
    return replace(play.context(), rules=replace(play.rules, **rules))


def test_the_first_process_of_a_deployment_notes_its_era_and_no_other_does() -> None:
    play = Play()
    for _ in range(3):
        note_era(context(play))
        play.clock.advance(1_000)
    (era,) = play.store.eras.of_owner(DEPLOYMENT, 9)
    assert (era.begins_at, era.misfire_ms, era.lookahead_ms) == (NOW, play.rules.misfire_ms, play.rules.lookahead_ms)


def test_an_era_begins_with_other_settings_and_again_when_they_are_taken_back() -> None:
    play = Play()
    for misfire_seconds in (60, 60, 90, 60):
        note_era(context(play, misfire_seconds=misfire_seconds))
        play.clock.advance(1_000)
    eras = play.store.eras.of_owner(DEPLOYMENT, 9)
    assert [(one.begins_at, one.misfire_ms) for one in eras] == [
        (NOW + 3_000, 60_000),
        (NOW + 2_000, 90_000),
        (NOW, 60_000),
    ]
    found = [era_at(play.context(), at) for at in (NOW - 1, NOW, NOW + 2_999, NOW + 9_999)]
    assert found == [None, eras[2], eras[1], eras[0]]


def test_a_process_reads_the_eras_once() -> None:
    play = Play()
    process = context(play)
    note_era(process)
    play.store.eras.clear()  # type: ignore[attr-defined]  # of the memory store
    note_era(process)
    assert play.store.eras.of_owner(DEPLOYMENT, 9) == []
