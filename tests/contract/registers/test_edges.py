"""What a job keeps of its parents, and the status under which a blocked job is listed."""

from tests.contract.rows import NOW, one_off, run, swapped
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import with_spec
from timeball.domain.model.jobs.job_states import Among
from timeball.domain.model.reason import Reason
from timeball.domain.model.terms.dependency import Blocked, Ended, Parent, Proposed, State, TriggerRule
from timeball.ports.rows import ListQuery
from timeball.ports.store import Store

PARENT = JobKey("acme", "parent")


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
