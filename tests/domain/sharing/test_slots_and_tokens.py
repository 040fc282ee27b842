"""Which run may begin, wait, or be admitted: decided by a limiter's row and the rows of the runs that it names."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.contract.rows import NOW, job, run
from timeball.domain.model.ids import LimiterKey
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.limiter import Begun, Bounds, Fixed, Limiter, RateTokens
from timeball.domain.model.runs.run import Callback, Permit, Run, RunState, Waiting
from timeball.domain.model.runs.transitions import claimed, frozen, withdrawn
from timeball.domain.model.tenants.tenant import NO_QUOTAS, Quotas
from timeball.domain.model.terms.flow import ConcurrencyLimit, Flow, OnFull, RateLimit
from timeball.domain.sharing.slots_and_tokens import (
    ADMITTED_AT_ONCE,
    LONGEST_HOLD_MS,
    RECHECK_EVERY_MS,
    SETTLES_MS,
    LimiterDecision,
    acquire,
    admitted,
    expected,
    has_slot,
    left_in_line,
    must_read_holders,
    room_for,
    tokens_taken,
    waits_because,
    without_ended,
)
from timeball.domain.sharing.stated_limits import RATE_HOLDS_MS, Ask, asks_of, bounded_by, said_anew
from timeball.domain.time.instants import SECOND_MS

LEASE_MS = 30_000
NAMED = Begun(run().id, 1, NOW + LEASE_MS, revision=1)
RUNNING = replace(claimed(run(), "owner", NOW, LEASE_MS), slots=("db",), revision=2)
OUT = NOW + LEASE_MS
KEY = LimiterKey("acme", "db")
IN_LINE = replace(run(), waiting=Waiting("db", Permit.SLOT), revision=2)
ELSEWHERE = replace(run(), waiting=Waiting("crm", Permit.TOKEN), revision=2)
CALLED = Waiting("db", Permit.TOKEN, admitted=True)
FOR_TURN = replace(run(), waiting=Waiting("db", Permit.TOKEN))
FOLLOWED = replace(RUNNING, callback=Callback(NOW, NOW + 3_600_000, execution="arn"))
ANOTHER = Begun(run(NOW + 1).id, 1, OUT)

SLOT, SKIPPING = Ask(KEY, Bounds(1)), Ask(KEY, Bounds(1), skips=True)
TOKEN = Ask(KEY, Bounds(per_second=2, burst=1))
FREE = Limiter(KEY, 0)
TAKEN = replace(FREE, begun=(ANOTHER,))
CALLING = replace(FREE, lines=(Permit.TOKEN,))
BEGINS = LimiterDecision(NOW, has_slot=True)
WAITS, TAKES_TURN = LimiterDecision(waits_for=Permit.SLOT), LimiterDecision(waits_for=Permit.TOKEN)


@pytest.mark.parametrize(
    ("begun", "row", "at", "is_there"),
    [
        (NAMED, run(), NOW, True),  # its claim is under way
        (NAMED, run(), OUT, True),  # and may still be written, until its row is written anew
        (NAMED, replace(run(), revision=2), NOW, False),  # it was written anew: the claim is refused
        (replace(NAMED, revision=2), replace(run(), revision=2), NOW, True),  # another claim is under way
        (NAMED, RUNNING, NOW, True),
        (NAMED, RUNNING, OUT, True),  # its executor may be frozen, and renews its lease when it continues
        (NAMED, replace(claimed(RUNNING, "another", NOW, LEASE_MS), slots=("db",)), NOW, True),  # it was taken over
        (replace(NAMED, attempt=2), RUNNING, OUT, True),  # the process that began to take it over has died
        (NAMED, replace(RUNNING, attempt=2, slots=("crm",)), NOW, False),  # its job no longer names the key
        (NAMED, FOLLOWED, OUT, True),  # the scan is about to poll its execution
        (NAMED, replace(RUNNING, state=RunState.SUCCEEDED, lease_until=None), NOW, False),
        (NAMED, replace(RUNNING, state=RunState.RETRYING, lease_until=None), NOW, False),
        (NAMED, replace(run(), state=RunState.CANCELLED, revision=2), NOW, False),  # before its claim
        (NAMED, replace(withdrawn(run()), revision=2), NOW, False),
        (
            replace(NAMED, revision=3),
            replace(run(), state=RunState.FAILED, revision=2),
            NOW,
            True,
        ),  # from before its retry
        (NAMED, None, NOW, False),
        (NAMED, IN_LINE, NOW, True),  # it was admitted, and its message is under way
        (NAMED, IN_LINE, OUT, False),  # its message was lost
        (NAMED, frozen(IN_LINE, NOW), NOW, False),  # it waits for something else now
        (NAMED, replace(ELSEWHERE, slots=("db",)), OUT, True),  # it has a slot, and waits for another rate token
        (NAMED, ELSEWHERE, NOW, False),  # it asked there first
    ],
)
def test_a_run_keeps_its_slot_from_before_its_claim_until_its_row_shows_that_it_no_longer_needs_it(
    begun: Begun, row: Run | None, at: int, *, is_there: bool
) -> None:
    assert has_slot(FREE, begun, row, at) is is_there
    assert without_ended(replace(FREE, begun=(begun,)), {begun.run: row}, at).begun == ((begun,) if is_there else ())


@pytest.mark.parametrize(
    ("limiter", "asking", "ask", "passed"),
    [
        (FREE, run(), SLOT, BEGINS),
        (TAKEN, run(), SLOT, WAITS),
        (TAKEN, run(), SKIPPING, LimiterDecision(is_skipped=True)),
        (TAKEN, replace(run(), attempt=1), SKIPPING, WAITS),  # it has begun, so it is not skipped
        (replace(FREE, begun=(NAMED,)), run(), SLOT, BEGINS),  # its own: its claim's answer was lost, or an admission
        (replace(FREE, lines=(Permit.SLOT,)), run(), SLOT, WAITS),  # it overtakes no run
        (replace(FREE, lines=(Permit.SLOT,)), run(), TOKEN, LimiterDecision(NOW)),  # the line is for something else
        (TAKEN, run(), Ask(KEY, Bounds(2)), BEGINS),  # its own job allows two
        (replace(TAKEN, fixed=Fixed(Bounds(1))), run(), Ask(KEY, Bounds(2)), WAITS),  # but a fixed limit has precedence
        (replace(FREE, fixed=Fixed(Bounds(0))), run(), SLOT, WAITS),
        (
            replace(FREE, fixed=Fixed(Bounds(0))),
            run(),
            TOKEN,
            LimiterDecision(NOW),
        ),  # its job names the key only for its rate
        (FREE, run(), TOKEN, LimiterDecision(NOW)),
        (replace(FREE, tokens=RateTokens(NOW + 0.5)), run(), TOKEN, LimiterDecision(NOW + 1)),
        (replace(FREE, tokens=RateTokens(NOW + LONGEST_HOLD_MS)), run(), TOKEN, LimiterDecision(NOW + LONGEST_HOLD_MS)),
        (replace(FREE, tokens=RateTokens(NOW + LONGEST_HOLD_MS + 1)), run(), TOKEN, TAKES_TURN),
        (
            replace(FREE, tokens=RateTokens(NOW + 1000)),
            run(),
            Ask(KEY, Bounds(None, 2, 3)),
            LimiterDecision(NOW),
        ),  # from the burst
        (replace(FREE, tokens=RateTokens(NOW + 1500)), run(), Ask(KEY, Bounds(None, 2, 3)), LimiterDecision(NOW + 500)),
        (replace(FREE, lines=(Permit.TOKEN,)), run(), TOKEN, TAKES_TURN),
        (replace(FREE, lines=(Permit.TOKEN,)), FOR_TURN, TOKEN, TAKES_TURN),  # its second message, or a manual retry
        (replace(FREE, lines=(Permit.TOKEN,)), replace(FOR_TURN, waiting=CALLED), TOKEN, LimiterDecision(NOW)),
        (CALLING, FOR_TURN, TOKEN, TAKES_TURN),  # its row does not yet show that it was admitted
        (replace(FREE, lines=(Permit.TOKEN,)), replace(run(), waiting=replace(CALLED, name="")), TOKEN, TAKES_TURN),
    ],
)
def test_a_run_begins_or_waits_or_is_skipped(limiter: Limiter, asking: Run, ask: Ask, passed: LimiterDecision) -> None:
    assert acquire(limiter, asking, ask, NOW, NOW, LEASE_MS)[1] == passed


def test_a_run_that_begins_is_named_until_its_lease_would_be_out() -> None:
    after, _ = acquire(FREE, run(), SLOT, NOW, NOW, LEASE_MS)
    assert (after.begun, after.said) == ((NAMED,), Bounds(1))


def test_a_claimed_run_is_in_no_line_and_has_only_the_slots_that_it_was_just_given() -> None:
    begun = claimed(replace(ELSEWHERE, slots=("db",)), "owner", NOW, LEASE_MS)
    assert (begun.waiting, begun.slots) == (None, ())


def test_a_run_that_has_a_slot_keeps_it_while_it_waits_for_a_rate_token() -> None:
    both = Ask(KEY, Bounds(1, 2, 1))
    after, passed = acquire(replace(FREE, lines=(Permit.TOKEN,)), run(), both, NOW, NOW, LEASE_MS)
    assert (after.begun, passed) == ((NAMED,), LimiterDecision(waits_for=Permit.TOKEN, has_slot=True))


@pytest.mark.parametrize(
    ("old", "new", "free_in_ms", "next_in_ms"),
    [
        (Bounds(None, 2, 1), Bounds(None, 2, 1), 500, 500),
        (Bounds(None, 2, 3), Bounds(5, 2, 3), 1_500, 500),  # a limit does not affect rate tokens
        (Bounds(None, 0.01, 1), Bounds(None, 50, 1), 100_000, 20),  # a faster rate applies at once
        (Bounds(None, 50, 1), Bounds(None, 100, 1), 2_000, 1_980),  # tokens that were given stay
        (Bounds(None, 50, 1), Bounds(None, 0.5, 1), 20, 2_000),
        (Bounds(None, 1, 10), Bounds(None, 2, 10), 10_000, 500),  # no second burst
        (Bounds(None, 1000, 1000), Bounds(None, 0.001, 1), 1_000, 1_000_000),  # nor is a burst paid back for ever
        (Bounds(1), Bounds(None, 2, 1), 0, 0),
    ],
)
def test_a_changed_rate_continues_from_the_rate_tokens_that_were_given(
    old: Bounds, new: Bounds, free_in_ms: int, next_in_ms: int
) -> None:
    limiter = replace(FREE, said=old, tokens=RateTokens(NOW + free_in_ms), due_at=NOW + 9)
    for changed in (bounded_by(limiter, new, NOW), said_anew(limiter, new, NOW)):
        _, passed = acquire(changed, run(), Ask(KEY, new), NOW, NOW, LEASE_MS)
        assert changed.due_at == NOW
        has_slot = new.slots is not None
        assert passed == (LimiterDecision(NOW + next_in_ms, has_slot) if next_in_ms <= LONGEST_HOLD_MS else TAKES_TURN)


SLOW, FAST = Ask(KEY, Bounds(None, 0.001, 1)), Ask(KEY, Bounds(None, 10, 1))


def test_the_slowest_rate_that_a_job_has_recently_stated_applies_to_others() -> None:
    limiter, _ = acquire(FREE, run(), SLOW, NOW, NOW, LEASE_MS)
    limiter, passed = acquire(limiter, run(NOW + 1), FAST, NOW, NOW, LEASE_MS)
    assert (passed, limiter.bounds) == (TAKES_TURN, SLOW.bounds)
    later = NOW + RATE_HOLDS_MS
    limiter, passed = acquire(replace(limiter, lines=()), run(NOW + 2), FAST, later, later, LEASE_MS)
    assert (passed, limiter.bounds) == (LimiterDecision(later), FAST.bounds)
    assert acquire(limiter, run(NOW + 3), SLOW, later, later, LEASE_MS)[1] == TAKES_TURN


def test_the_old_rate_of_a_job_that_states_another_no_longer_applies() -> None:
    limiter, _ = acquire(FREE, run(), SLOW, NOW, NOW, LEASE_MS)
    changed = said_anew(limiter, FAST.bounds, NOW, SLOW.bounds)
    assert changed.bounds == FAST.bounds
    assert acquire(changed, run(NOW + 1), FAST, NOW, NOW, LEASE_MS)[1] == LimiterDecision(NOW + 100)
    assert said_anew(limiter, FAST.bounds, NOW, Bounds(None, 5, 1)).bounds == SLOW.bounds


def test_of_two_equal_rates_the_one_with_the_smaller_burst_applies() -> None:
    limiter, _ = acquire(FREE, run(), Ask(KEY, Bounds(None, 2, 1)), NOW, NOW, LEASE_MS)
    limiter, _ = acquire(limiter, run(NOW + 1), Ask(KEY, Bounds(None, 2, 9)), NOW, NOW, LEASE_MS)
    assert limiter.bounds == Bounds(None, 2, 1)


def test_raised_quotas_apply_at_once() -> None:
    tenant = replace(FREE, key=LimiterKey("acme"))
    limiter, _ = acquire(tenant, run(), Ask(tenant.key, Bounds(None, 1, 1)), NOW, NOW, LEASE_MS)
    limiter, _ = acquire(limiter, run(NOW + 1), Ask(tenant.key, Bounds(None, 5, 1)), NOW, NOW, LEASE_MS)
    assert limiter.bounds == Bounds(None, 5, 1)


def test_a_limiter_that_expects_a_run_stays_due_although_its_line_looks_empty() -> None:
    after = expected(replace(FREE, joined_at=1), NOW)
    assert (after.due_at, left_in_line(after, (), NOW, some_admitted=False).due_at) == (NOW, NOW + SECOND_MS)


def test_a_waiting_run_makes_its_limiter_due_soon() -> None:
    after, _ = acquire(TAKEN, run(), SLOT, NOW, NOW, LEASE_MS)
    assert (after.lines, after.joined_at, after.due_at) == ((Permit.SLOT,), NOW, NOW + SECOND_MS)
    sooner, _ = acquire(replace(TAKEN, due_at=NOW + 5), run(), SLOT, NOW, NOW, LEASE_MS)
    assert sooner.due_at == NOW + 5


def test_rate_tokens_are_as_far_apart_as_the_rate_says() -> None:
    limiter, tokens = FREE, list[int]()
    for _ in range(6):
        limiter, passed = acquire(limiter, run(), Ask(KEY, Bounds(per_second=3, burst=1)), NOW, NOW, LEASE_MS)
        tokens.append(passed.begins_at - NOW)
    assert tokens == [0, 334, 667, 1000, 1334, 1667]
    assert tokens_taken(limiter, NOW) == 3


@pytest.mark.parametrize(
    ("begun", "coming", "is_read"),
    [((), 9, False), ((ANOTHER,), 1, True), ((NAMED,), 1, False), ((ANOTHER,) * 2, 1, True)],
)
def test_the_holders_are_read_if_there_is_no_slot_for_all_runs_that_ask(
    begun: Sequence[Begun], coming: int, *, is_read: bool
) -> None:
    limiter = replace(FREE, begun=tuple(begun))
    asking = [(run(), SLOT)] * coming
    assert must_read_holders(limiter, asking) is is_read
    assert not must_read_holders(replace(limiter, lines=(Permit.SLOT,)), asking)  # they wait in line anyway
    assert not must_read_holders(limiter, [(run(), TOKEN)] * coming)


def test_as_many_runs_are_admitted_as_there_are_slots_and_the_limiter_names_them() -> None:
    limiter = replace(TAKEN, said=Bounds(3))
    assert room_for(limiter, Permit.SLOT, NOW) == 2
    after, instants = admitted(limiter, Permit.SLOT, [run()], NOW, LEASE_MS)
    assert after.begun == (ANOTHER, Begun(run().id, 1, NOW + 2 * LEASE_MS, revision=1))
    assert instants == [NOW]
    assert room_for(bounded_by(limiter, Bounds(0), NOW), Permit.SLOT, NOW) < 0
    assert room_for(FREE, Permit.SLOT, NOW) == ADMITTED_AT_ONCE  # it has no limit any more


def test_as_many_runs_are_admitted_as_rate_tokens_are_near_each_for_its_own() -> None:
    limiter = replace(FREE, said=Bounds(None, 2, 1), tokens=RateTokens(free_at=NOW + 1_000))
    assert room_for(limiter, Permit.TOKEN, NOW) == 4  # in 1.0, 1.5, 2.0 and 2.5 s
    after, instants = admitted(limiter, Permit.TOKEN, [run()] * 4, NOW, LEASE_MS)
    assert [at - NOW for at in instants] == [1_000, 1_500, 2_000, 2_500]
    assert room_for(after, Permit.TOKEN, NOW) == 0
    assert room_for(after, Permit.TOKEN, NOW + SECOND_MS) == 2


@pytest.mark.parametrize(
    ("left", "some_admitted", "since_ms", "due_in_ms"),
    [
        ((), False, SETTLES_MS, None),
        ((), False, SETTLES_MS - 1, SECOND_MS),  # a run that has just joined the line may not be visible yet
        ((), True, SETTLES_MS, RECHECK_EVERY_MS),  # an admitted run may not have received its message yet
        ((Permit.SLOT,), False, SETTLES_MS, RECHECK_EVERY_MS),
        ((Permit.SLOT, Permit.TOKEN), False, SETTLES_MS, SECOND_MS),
    ],
)
def test_a_limiter_is_due_as_long_as_a_run_may_wait(
    left: Sequence[Permit], since_ms: int, due_in_ms: int | None, *, some_admitted: bool
) -> None:
    after = left_in_line(replace(FREE, joined_at=NOW - since_ms), left, NOW, some_admitted=some_admitted)
    assert (after.lines, after.due_at) == (tuple(left), None if due_in_ms is None else NOW + due_in_ms)


def test_a_job_asks_for_its_keys_and_then_for_the_quotas_of_its_tenant() -> None:
    keyed = replace(
        job().spec, flow=Flow(concurrency=ConcurrencyLimit("db", 3, OnFull.SKIP), rate=RateLimit("crm", 0.5, 2))
    )
    db, crm = Ask(KEY, Bounds(3), skips=True), Ask(LimiterKey("acme", "crm"), Bounds(None, 0.5, 2))
    assert asks_of(keyed, NO_QUOTAS) == [db, crm]
    assert asks_of(keyed, Quotas(runs_per_second=9)) == [db, crm, Ask(LimiterKey("acme"), Bounds(None, 9, 1))]
    one = replace(keyed, flow=replace(keyed.flow, rate=RateLimit("db", 0.5, 2)))
    assert asks_of(one, NO_QUOTAS) == [Ask(KEY, Bounds(3, 0.5, 2), skips=True)]
    assert asks_of(job().spec, Quotas(runs_at_once=0)) == []


def test_each_line_has_its_reason() -> None:
    lines = [Waiting("db", Permit.SLOT), Waiting("db", Permit.TOKEN), Waiting("", Permit.SLOT)]
    assert [waits_because(one) for one in lines] == [Reason.LIMIT_WAIT, Reason.RATE_WAIT, Reason.QUOTA_WAIT]
