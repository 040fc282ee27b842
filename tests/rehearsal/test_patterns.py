"""The patterns of events in a rehearsal, beside moto's: what one matches, the other does."""

from typing import Any

import pytest

from tests.patterns import matches as matches_by_moto
from timeball.rehearsal.patterns import matches

EVENT = {
    "source": "shop",
    "detail-type": "order.placed",
    "detail": {
        "total": 250,
        "name": "Ada",
        "tags": ["new", "large"],
        "paid": True,
        "note": None,
        "lines": [{"n": 7}],
    },
}


@pytest.mark.parametrize(
    ("pattern", "is_matched"),
    [
        ('{"source": ["shop"]}', True),
        ('{"source": ["other", "shop"]}', True),
        ('{"source": ["shop"], "detail-type": ["refund"]}', False),
        ('{"detail": {"total": [250]}}', True),
        ('{"detail": {"total": ["250"]}}', False),  # a number is no text
        ('{"detail": {"paid": [true]}}', True),
        ('{"detail": {"paid": ["true"]}}', False),
        ('{"detail": {"note": [null]}}', True),
        ('{"detail": {"tags": ["large"]}}', True),  # one element is enough
        ('{"detail": {"tags": ["old"]}}', False),
        ('{"detail": {"total": [{"numeric": [">", 100, "<=", 250]}]}}', True),
        ('{"detail": {"total": [{"numeric": ["=", 100]}]}}', False),
        ('{"detail": {"name": [{"prefix": "A"}]}}', True),
        ('{"detail": {"name": [{"prefix": "a"}]}}', False),
        ('{"detail": {"name": [{"anything-but": ["Bob"]}]}}', True),
        ('{"detail": {"name": [{"anything-but": "Ada"}]}}', False),
        ('{"detail": {"name": [{"anything-but": {"prefix": "A"}}]}}', False),
        ('{"detail": {"name": [{"exists": true}]}}', True),
        ('{"detail": {"mail": [{"exists": false}]}}', True),
        ('{"detail": {"mail": [{"anything-but": "x"}]}}', False),  # a field that is absent matches nothing else
    ],
)
def test_a_pattern_matches_what_eventbridge_documents(pattern: str, is_matched: bool) -> None:  # noqa: FBT001
    assert matches(pattern, EVENT) is is_matched
    assert matches_by_moto(pattern, EVENT) is is_matched


@pytest.mark.parametrize(
    ("pattern", "is_matched"),
    [
        ('{"detail": {"name": [{"suffix": "da"}]}}', True),
        ('{"detail": {"name": [{"prefix": {"equals-ignore-case": "AD"}}]}}', True),
        ('{"detail": {"name": [{"equals-ignore-case": "ADA"}]}}', True),
        ('{"detail": {"name": [{"wildcard": "A*a"}]}}', True),
        ('{"detail": {"name": [{"wildcard": "B*"}]}}', False),
        ('{"detail": {"lines": {"n": [7]}}}', True),
        ('{"detail": {"total": [{"suffix": "0"}]}}', False),
        ('{"detail": {"name": [{"cidr": "10.0.0.0/8"}]}}', False),
        ('{"$or": [{"source": ["bank"]}, {"detail": {"total": [250]}}]}', True),
        ('{"$or": [{"source": ["bank"]}, {"detail": {"total": [1]}}]}', False),
    ],
)
def test_operators_that_moto_lacks_match_as_documented(pattern: str, is_matched: bool) -> None:  # noqa: FBT001
    assert matches(pattern, EVENT) is is_matched


def test_an_address_matches_the_networks_that_contain_it() -> None:
    event = {"detail": {"address": "10.1.2.3"}}
    assert matches('{"detail": {"address": [{"cidr": "10.0.0.0/8"}]}}', event)
    assert not matches('{"detail": {"address": [{"cidr": "192.0.2.0/24"}]}}', event)


@pytest.mark.parametrize(
    "pattern",
    ['["shop"]', "no json", '{"source": "shop"}', '{"n": [{"like": "x"}]}', '{"n": [{"numeric": ["<"]}]}'],
)
def test_text_that_is_no_pattern_is_refused_for_any_event(pattern: str) -> None:
    event: dict[str, Any] = {}
    with pytest.raises((ValueError, KeyError)):
        matches(pattern, event)
