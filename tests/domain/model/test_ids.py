"""Ids of runs, shards and hashes; instants and their text."""

from collections import Counter
from itertools import combinations

import pytest

from timeball.domain.model.ids import JobKey, Origin, RunId, Shards, fraction_of, shard_of
from timeball.domain.time.instants import EARLIEST, LATEST, format_instant, parse_instant


@pytest.mark.parametrize("origin", Origin)
@pytest.mark.parametrize("fire_at", [0, 1, 1_795_253_400_250, 10**15 - 1])
def test_a_runs_text_is_parsed_to_the_same_id(origin: Origin, fire_at: int) -> None:
    series = {Origin.BACKFILL: "x7", Origin.EVENT: "x7", Origin.DEPENDENCY: "1000"}.get(origin, "")
    run = RunId(JobKey("acme", "a_b-C9"), fire_at, origin, series)
    assert RunId.parse("acme", str(run)) == run


def test_each_origin_has_a_letter_of_its_own() -> None:
    assert len({str(RunId(JobKey("a", "b"), 0, origin)) for origin in Origin}) == len(Origin)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "job",
        "job.1",
        "job.1.x",
        "job.01.s",
        "job.-1.s",
        "job.1.s ",
        "jo b.1.s",
        "j#b.1.s",
        ".1.s",
        "x" * 65 + ".1.s",
        "job.1000000000000000.s",
        "job.1.S",
        "job.1.s\n",
        "job.\N{ARABIC-INDIC DIGIT ONE}.s",
        "a.b.1.s",
        "job.1.sx7",  # only a backfill has a name
        "job.1.d",  # an item has a number, from 1
        "job.1.d0",
        "job.1.dx",
        "job.1.b",
        "job.1.bX",
        "job.1.b" + "x" * 27,
    ],
)
def test_a_text_that_is_no_run_id_is_refused(text: str) -> None:
    assert RunId.parse("acme", text) is None


def test_shards_are_stable_and_even() -> None:
    assert [shard_of(JobKey("acme", f"job-{n}"), 4) for n in range(8)] == [
        shard_of(JobKey("acme", f"job-{n}"), 4) for n in range(8)
    ]
    counts = Counter(shard_of(JobKey("acme", f"job-{number}"), 4) for number in range(4_000))
    assert set(counts) == {0, 1, 2, 3}
    assert all(900 < count < 1_100 for count in counts.values())


def test_a_secret_gives_other_shards_as_evenly() -> None:
    keys = [JobKey("acme", f"job-{number}") for number in range(4_000)]
    drawn = [[Shards(4, secret).of(key) for key in keys] for secret in (b"", b"one", b"other")]
    assert drawn[0] == [shard_of(key, 4) for key in keys]
    for one, other in combinations(drawn, 2):
        assert 900 < sum(a == b for a, b in zip(one, other, strict=True)) < 1_100
    assert all(900 < count < 1_100 for one in drawn for count in Counter(one).values())


def test_a_fraction_is_a_hash_of_all_its_arguments() -> None:
    assert fraction_of("a", 1) == fraction_of("a", 1)
    assert len({fraction_of("a", 1), fraction_of("a", 2), fraction_of("a1"), fraction_of("b", 1)}) == 4
    assert all(0 <= fraction_of(number) < 1 for number in range(1_000))


# Each case: a text, and the same instant as it is formatted.
INSTANTS = {
    "1970-01-01T00:00:00Z": "1970-01-01T00:00:00.000Z",
    "2026-11-21T09:30:00.25+02:00": "2026-11-21T07:30:00.250Z",
    "2026-11-21t09:30:00Z": "2026-11-21T09:30:00.000Z",
    "2026-11-21T09:30:00.999999Z": "2026-11-21T09:30:00.999Z",
    "2399-12-31T23:59:59.999Z": "2399-12-31T23:59:59.999Z",
    "2024-02-29T23:59:59-11:30": "2024-03-01T11:29:59.000Z",
}


@pytest.mark.parametrize("text", INSTANTS)
def test_an_instant_is_parsed_and_formatted_to_the_millisecond(text: str) -> None:
    assert format_instant(parse_instant(text)) == INSTANTS[text]


@pytest.mark.parametrize("at", [EARLIEST, 1, 999, 1_795_253_400_250, LATEST - 1])
def test_a_formatted_instant_is_parsed_to_the_same_instant(at: int) -> None:
    assert parse_instant(format_instant(at)) == at


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-11-21",
        "2026-11-21T09:30:00",
        "2026-02-29T00:00:00Z",
        "2026-11-21T25:00:00Z",
        "1969-12-31T23:59:59Z",
        "2400-01-01T00:00:00Z",
        "0001-01-01T00:00:00+14:00",
    ],
)
def test_an_invalid_instant_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"^[A-Z].*\.$"):
        parse_instant(text)
