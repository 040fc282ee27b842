"""Fingerprints: which errors count as the same."""

import pytest

from timeball.domain.run_ends.fingerprint import outline_of_error

SAME = [
    # numbers, also within words, with signs, points and commas
    ("HTTP 503 after 1200 ms", "HTTP 502 after 87 ms"),
    ("row 7 of 1,200.5 is bad", "row 12 of 3.25 is bad"),
    ("worker7 at 10.0.0.1:8080 is gone", "worker12 at 10.0.3.77:443 is gone"),
    ("no customer since 2026-11-21T09:30:00Z", "no customer since 2025-01-02T00:00:01Z"),
    # UUIDs, with and without hyphens, in both cases
    ("order 550e8400-e29b-41d4-a716-446655440000 is lost", "order 6BA7B810-9DAD-11D1-80B4-00C04FD430C8 is lost"),
    ("order 550e8400e29b41d4a716446655440000 is lost", "order 6ba7b8109dad11d180b400c04fd430c8 is lost"),
    # hexadecimal ids
    ("commit 3fa9c1d failed", "commit 90bbe12 failed"),
    ("fault at 0x7ffe", "fault at 0xDEAD"),
    # quoted values, of whatever content, also without their end
    ('no table "a b"', 'no table "x-7"'),
    ("no column 'name'", "no column 'its name'"),
    ("no file `a.txt`", "no file `b.txt`"),
    ('cannot read "a long value that was c', 'cannot read "another'),
    # white space
    ("a\n b", "a b"),
]

OTHER = [
    ("the shop is closed", "the bank is closed"),
    ("row 7 is bad", "rows 7 are bad"),
    ("it can't be read, it won't do", "it can't be sent, it won't do"),  # an apostrophe quotes nothing
    ("decade", "facade"),  # a word of the letters a to f is no id
    ("beef 12", "cafe 12"),
    ("no table", 'no "table"'),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_errors_that_differ_in_numbers_ids_and_quoted_values_are_the_same(one: str, other: str) -> None:
    assert outline_of_error(one) == outline_of_error(other)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_errors_that_differ_in_words_are_not_the_same(one: str, other: str) -> None:
    assert outline_of_error(one) != outline_of_error(other)


def test_an_error_that_was_cut_within_an_id_is_the_same_as_with_another_id() -> None:
    texts = [f"{'long ' * 38}{end}" for end in ("id 550e8400-e29b-41d4-a716-446655440000", "id 6ba7b81x")]
    assert len({outline_of_error(text[:200]) for text in texts}) == 1
