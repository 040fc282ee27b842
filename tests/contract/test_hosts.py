"""Rows of hosts that have failed lately: of each tenant, made once, changed as they were read."""

from dataclasses import replace

from tests.contract.conftest import Subject
from tests.contract.rows import NOW
from timeball.domain.host import Host, HostKey
from timeball.ports import Store, Swap, Swapped

KEY = HostKey("acme", "[2001:db8::1]:8443")
HOST = Host(KEY, failures=3, turn_at=NOW)
RESTS = replace(HOST, failures=5, rests=1, rests_until=NOW + 30_000, is_probed=True, revision=2)


def test_a_host_has_no_row_until_it_has_one_and_each_tenant_has_its_own(subject: Subject) -> None:
    others = HostKey("other", KEY.host)
    assert subject.store.read_hosts([KEY]) == [None]
    subject.lose_answer()
    assert subject.store.create_hosts([HOST], NOW) == [None]
    assert subject.was_repeated()
    assert subject.store.create_hosts([replace(HOST, failures=1), Host(others)], NOW) == [HOST, None]
    assert subject.store.read_hosts([others, KEY]) == [Host(others), HOST]


def test_a_host_is_swapped_if_it_is_as_it_was_read(subject: Subject) -> None:
    store = subject.store
    store.create_hosts([HOST], NOW)
    subject.lose_answer()
    assert store.swap_hosts([Swap(HOST, RESTS)], NOW) == [Swapped(done=True, row=RESTS)]
    assert subject.was_repeated()
    assert store.swap_hosts([Swap(HOST, replace(HOST, revision=2))], NOW) == [Swapped(done=False, row=RESTS)]
    back = replace(RESTS, failures=0, rests=0, rests_until=None, is_probed=False, revision=3)
    assert store.swap_hosts([Swap(RESTS, back)], NOW)[0].done
    assert store.read_hosts([KEY]) == [back]


def test_a_swap_of_a_host_without_a_row_is_refused(store: Store) -> None:
    (answer,) = store.swap_hosts([Swap(HOST, RESTS)], NOW)
    assert (answer.done, answer.row) == (False, None)
