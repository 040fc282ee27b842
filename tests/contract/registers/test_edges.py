"""The edges between jobs, and the status under which a blocked job is listed."""

from tests.contract.rows import NOW, one_off, run, swapped
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import with_spec
from timeball.domain.model.jobs.job_states import Among
from timeball.domain.model.reason import Reason
from timeball.domain.model.terms.dependency import Blocked, Edge, Ended, Parent, Proposed, State, TriggerRule
from timeball.ports.rows import ListQuery
from timeball.ports.store import Store

PARENT = JobKey("acme", "parent")


def test_the_children_of_a_job_are_listed_once_each_in_order(store: Store) -> None:
    names = ["a", "a-b", "b", "c_1"]
    store.edges.note([Edge(PARENT, JobKey("acme", name)) for name in reversed(names)], NOW)
    store.edges.note([Edge(PARENT, JobKey("acme", "b")), Edge(JobKey("acme", "parent-2"), PARENT)], NOW + 1)
    store.edges.note([Edge(JobKey("other", "parent"), JobKey("other", "theirs"))], NOW)
    named = store.edges.children([PARENT, JobKey("acme", "nobody"), JobKey("acme", "parent-2")])
    assert [[key.job_id for key in keys] for keys in named] == [names, [], ["parent"]]
    assert store.edges.children([]) == []


def test_an_edge_that_was_not_noted_since_is_forgotten_and_may_be_noted_again(store: Store) -> None:
    old, new = Edge(PARENT, JobKey("acme", "old")), Edge(PARENT, JobKey("acme", "new"))
    store.edges.note([old, new], NOW)
    store.edges.note([new], NOW + 5)
    store.edges.forget([old, new, Edge(PARENT, JobKey("acme", "never"))], NOW + 5, NOW + 9)
    assert store.edges.children([PARENT]) == [[new.child]]
    store.edges.note([old], NOW + 10)
    assert store.edges.children([PARENT]) == [[new.child, old.child]]
    store.edges.forget([], NOW + 20, NOW + 20)


def test_a_job_keeps_its_parents_and_what_blocks_it(store: Store) -> None:
    spec = {"depends_on": (Parent("a"), Parent("b", "rows")), "trigger_rule": TriggerRule.ALL_DONE, "inherits": True}
    blocked = Blocked(RunId(PARENT, NOW, Origin.SCHEDULE), ("parent", "a"))
    row = evolve(
        with_spec(one_off(), **spec),
        waits=True,
        waits_since=NOW - 5,
        skips=Reason.PARENT_SKIPPED,
        blocked=blocked,
        ended=(Ended("a", State.SUCCEEDED, NOW, NOW - 1), Ended("b", State.DEAD, NOW + 1, NOW - 1)),
        has_children=True,
        is_gate=True,
        must_notify_children=True,
        ancestors=7,
        proposed=Proposed(NOW, ("x", "y")),
    )
    store.jobs.insert([row], NOW)
    assert store.jobs.read([row.key], with_work=True) == [row]


def test_a_run_keeps_that_it_waits_and_what_blocks_it(store: Store) -> None:
    blocked = Blocked(RunId(PARENT, NOW, Origin.SCHEDULE), ("parent", "a"))
    ended = (Ended("a", State.CANCELLED, NOW, NOW - 1),)
    row = evolve(
        run(),
        waits=True,
        blocked=blocked,
        ended=ended,
        must_notify_children=True,
        joined=True,
        marked_succeeded="by hand",
    )
    store.runs.insert([row], NOW)
    assert store.runs.read([row.id]) == [row]


def test_a_blocked_job_keeps_its_position_in_the_listing(store: Store) -> None:
    row = one_off()
    store.jobs.insert([row], NOW)
    query = ListQuery[JobKey](row.key.tenant, 9)
    blocked = swapped(store.jobs, row, evolve(row, blocked=Blocked(RunId(PARENT, NOW, Origin.SCHEDULE), ("parent",))))
    assert store.jobs.listed([], query) == [(row.created_at, row.key)]
    swapped(store.jobs, blocked, evolve(blocked, blocked=None))
    assert store.jobs.listed([Among.OPEN], query) == [(row.created_at, row.key)]
