"""The history of users' changes: revisions and announcements, the same in every store."""

from dataclasses import replace
from typing import Any

import pytest

from tests.contract.rows import KEY, NOW, job, work
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Change, Job, JobStatus, with_spec
from timeball.domain.model.jobs.revision import (
    Announcement,
    Revision,
    RevisionId,
    entry_of_request,
    outline,
    request_announced,
    revision_of,
)
from timeball.domain.model.tenants.actor import Action, Actor, Resource, ResourceKind
from timeball.domain.time.instants import LATEST
from timeball.ports.notes import ChangesQuery
from timeball.ports.rows import Swap
from timeball.ports.store import Store

BY = Actor("key_1", "editor", "192.0.2.1")
CHANGE = Change(NOW, Action.PUT, BY, JobStatus.PAUSED, NOW + 7, 3)
LARGE = 5_000


def revised(version: int = 1, characters: int = 20, row: Job | None = None) -> Job:
    return replace(row or job(characters=characters), version=version, change=CHANGE, created_by="key_0")


def announced(at: int = NOW, name: str = "job", version: int = 2, key_id: str = "key_1") -> Announcement:
    return Announcement(at, JobKey("acme", name), version, 0, "", key_id)


def query(limit: int = 100, **wanted: Any) -> ChangesQuery:
    return ChangesQuery("acme", limit, **wanted)


def test_a_jobs_row_names_its_creator_and_its_last_change(store: Store) -> None:
    store.jobs.insert([revised()], NOW)
    row = store.jobs.read([KEY], with_work=True)[0]
    assert row == revised()


@pytest.mark.parametrize("characters", [20, 450, LARGE])
def test_a_revision_is_read_as_it_was_written(store: Store, characters: int) -> None:
    before = revised(characters=characters)
    store.jobs.insert([before], NOW)
    store.changes.note([revision_of(before)], NOW)
    kept = revision_of(before)
    assert store.changes.read([kept.id], whole=True) == [kept]
    assert store.changes.read([kept.id]) == store.changes.of_job(kept.id, 5) == [outline(kept)]
    assert outline(kept).lacks_payload == (characters == LARGE)


def test_a_revision_has_its_payload_after_its_job_has_another(store: Store) -> None:
    before = revised(characters=LARGE)
    store.jobs.insert([before], NOW)
    store.changes.note([revision_of(before)], NOW)
    after = with_spec(replace(before, version=2), work=work(LARGE + 1))
    assert store.jobs.swap([Swap(before, after)], NOW)[0].done
    assert store.changes.read([revision_of(before).id], whole=True) == [revision_of(before)]


def test_the_first_write_of_a_version_stands(store: Store) -> None:
    store.changes.note([revision_of(revised())], NOW)
    store.changes.note([revision_of(replace(revised(), change=replace(CHANGE, at=NOW + 1)))], NOW)
    assert store.changes.read([revision_of(revised()).id]) == [revision_of(revised())]


def test_an_unknown_revision_is_none(store: Store) -> None:
    store.changes.note([revision_of(revised(version=2))], NOW)
    ids = [RevisionId(KEY, NOW, 1), RevisionId(KEY, NOW + 1, 2), RevisionId(JobKey("other", "job"), NOW, 2)]
    assert store.changes.read(ids) == [None, None, None]


def test_a_jobs_revisions_are_listed_backwards_from_one(store: Store) -> None:
    kept: list[Revision] = [revision_of(revised(version)) for version in (1, 2, 3, 10, 11)]
    earlier = revision_of(revised(7, row=replace(job(), created_at=NOW - 1)))
    others = [revision_of(revised(2, row=job("job-2"))), revision_of(revised(2, row=job("jo")))]
    store.changes.note([*kept, earlier, *others], NOW)

    def versions(version: int, limit: int) -> list[int]:
        return [one.version for one in store.changes.of_job(RevisionId(KEY, NOW, version), limit)]

    assert versions(11, 100) == [11, 10, 3, 2, 1]
    assert versions(10, 2) == [10, 3]
    assert versions(9, 1) == [3]
    assert versions(1, 5) == [1]


def test_announcements_come_newest_first_and_once(store: Store) -> None:
    wanted = [announced(NOW + at, name) for at in (3, 2, 1) for name in ("b", "a-b", "a")]
    store.changes.note(wanted[::-1], NOW)
    store.changes.note(wanted[:3], NOW)
    assert store.changes.announced(query()) == wanted == sorted(wanted, reverse=True)
    assert store.changes.announced(query(4)) == wanted[:4]
    for place, after in enumerate(wanted):
        assert store.changes.announced(query(2, after=after)) == wanted[place + 1 : place + 3]


def test_announcements_of_one_instant_are_distinguished(store: Store) -> None:
    run = Announcement(NOW, KEY, 0, NOW + 5, "", "key#1")
    wanted = [announced(version=3), announced(key_id="key_2"), announced(key_id=""), run]
    store.changes.note(wanted, NOW)
    assert store.changes.announced(query()) == sorted(wanted, reverse=True)


def test_a_request_on_any_resource_is_announced_with_its_actor(store: Store) -> None:
    by = Actor("key#1", "editor", "192.0.2.1")
    resources = [
        Resource(ResourceKind.TASK, "mail"),
        Resource(ResourceKind.RUN, "job.5.s", "job"),
        Resource(ResourceKind.DEAD_LETTERS, ""),
    ]
    wanted = [request_announced("acme", one, Action.RETRY, by, NOW) for one in resources]
    store.changes.note([*wanted, announced()], NOW)
    assert store.changes.announced(query()) == sorted([*wanted, announced()], reverse=True)
    kept = [one for one in store.changes.announced(query()) if one.asked]
    assert {entry_of_request(one).resource: one.by for one in kept} == dict.fromkeys(resources, by)


def test_announcements_are_filtered_by_time_and_by_job(store: Store) -> None:
    wanted = [announced(NOW + at, "b" if at % 2 else "a") for at in range(6, 0, -1)]
    store.changes.note(wanted, NOW)
    assert store.changes.announced(query(from_at=NOW + 2, to_at=NOW + 4)) == wanted[2:5]
    assert store.changes.announced(query(from_at=NOW + 7, to_at=LATEST)) == []
    assert store.changes.announced(query(from_at=NOW + 4, after=wanted[5])) == []
    of_a = store.changes.announced(query(job=JobKey("acme", "a")))
    assert [one for one in of_a if one.job.job_id == "a"] == wanted[::2]


def test_a_tenant_lists_no_announcements_of_another(store: Store) -> None:
    store.changes.note([announced(), Announcement(NOW, JobKey("acme-2", "job"), 2, 0, "", "key_1")], NOW)
    assert store.changes.announced(query()) == [announced()]
    assert store.changes.announced(ChangesQuery("acm", 10)) == []
