"""Disabled tenants: none of their runs starts, none is lost, and all go on after the tenant is enabled."""

from dataclasses import replace

import pytest

from tests.engine.play import spec
from tests.engine.service import KEY, Service, at, calls, ledger
from timeball.domain.backfill import BackfillStatus, instants, new_backfill
from timeball.domain.model.ids import BackfillKey, Origin
from timeball.domain.model.jobs.freeze import BEGINS_AFTER_MS, MAX_FREEZES, Freeze, FreezeMatch
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy, OverlapPolicy
from timeball.domain.planning.blackouts import STOPPED_RECHECK_MS
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import Every, Timing
from timeball.engine.backfills import create_backfills
from timeball.engine.blackouts.freezes import FreezeOutcome, create_freeze, freezes_of, start_tenant, stop_tenant
from timeball.engine.runs.trigger import Trigger, trigger

SKIP, LATEST, ALL = (CatchUp(policy, 5) for policy in CatchUpPolicy)
RAN, FROZEN = ("succeeded", None), ("skipped", "frozen")
KNOWN = BEGINS_AFTER_MS / SECOND_MS
ENABLED = STOPPED_RECHECK_MS // SECOND_MS + 30


def begin(service: Service, timing: Timing, catch_up: CatchUp = LATEST) -> None:
    service.play.store_jobs([replace(spec("job", timing), catch_up=catch_up)])


def disable(service: Service) -> None:
    stop_tenant(service.play.context(), "acme")


def enable(service: Service) -> None:
    start_tenant(service.play.context(), "acme")


@pytest.mark.parametrize(
    ("catch_up", "expected"),
    [
        (SKIP, {60: FROZEN, 660: RAN}),
        (LATEST, {60: FROZEN, 360: RAN, 660: RAN}),
        (ALL, {60: RAN, 360: RAN, 660: RAN}),
    ],
)
def test_the_catch_up_policy_decides_when_the_tenant_is_enabled(
    service: Service, catch_up: CatchUp, expected: dict[float, tuple[str, str | None]]
) -> None:
    begin(service, Every(300, at(60)), catch_up)
    disable(service)
    service.until(at(500))
    assert calls(service) == []
    enable(service)
    service.until(at(900))
    assert ledger(service.play) == expected


def test_a_retry_waits_and_is_not_lost(service: Service) -> None:
    begin(service, Every(3000, at(4)))
    service.target.statuses = [500]
    service.until(at(4.5))
    disable(service)
    service.until(at(120))
    (run,) = service.play.runs(KEY)
    assert (run.attempt, run.reason, run.is_terminal) == (1, Reason.FROZEN, False)
    enable(service)
    service.until(at(120 + ENABLED))
    assert ledger(service.play) == {4: RAN}
    assert len(calls(service)) == 2


def test_a_manual_run_waits_too(service: Service) -> None:
    begin(service, Every(3000, at(10)))
    disable(service)
    service.until(at(KNOWN))
    trigger(service.play.context(), [Trigger(KEY, fingerprint="f")])
    service.until(at(60))
    assert calls(service) == []
    enable(service)
    service.until(at(60 + ENABLED))
    (manual,) = [run for run in service.play.runs(KEY) if run.id.origin is Origin.MANUAL]
    assert manual.state is RunState.SUCCEEDED


def test_a_backfill_starts_no_runs_while_its_tenant_is_disabled_and_goes_on_afterwards(service: Service) -> None:
    begin(service, Every(60, at(86_400)))
    job, now = service.play.job(KEY), service.play.clock.now()
    fires = list(instants(job.spec.schedule, now - 20 * MINUTE_MS, now))
    create_backfills(
        service.play.context(),
        [new_backfill(BackfillKey(KEY, "bf1"), job, fires, 5, OverlapPolicy.ALLOW, now)],
    )
    service.until(at(12))
    disable(service)
    service.until(at(12 + KNOWN + 5))
    begun = len(service.play.runs(KEY))
    called = len(calls(service))
    service.until(at(120))
    assert (len(service.play.runs(KEY)), len(calls(service))) == (begun, called)
    assert 0 < begun < 10
    enable(service)
    service.until(at(120 + ENABLED + 120))
    (backfill,) = service.play.store.backfills.read([BackfillKey(KEY, "bf1")])
    assert backfill is not None
    assert backfill.status is BackfillStatus.COMPLETED
    assert [run.state for run in service.play.runs(KEY)] == [RunState.SUCCEEDED] * len(fires)


def test_a_run_under_way_ends_normally(service: Service) -> None:
    begin(service, Every(3000, at(4)))
    service.target.takes = lambda _: 20 * SECOND_MS
    service.until(at(5))
    disable(service)
    service.until(at(40))
    assert ledger(service.play) == {4: RAN}


def test_disabling_again_and_enabling_again_change_nothing(service: Service) -> None:
    context = service.play.context()
    enable(service)
    for change in (disable, disable, enable, enable):
        change(service)
    assert freezes_of(context, "acme").stop_at(service.play.clock.now()) is None
    assert freezes_of(context, "acme").open_at(service.play.clock.now()) == []


def test_users_do_not_see_the_stop_among_their_freezes_and_lose_none_to_it(service: Service) -> None:
    disable(service)
    context, now = service.play.context(), service.play.clock.now()
    assert freezes_of(context, "acme").open_at(now) == []
    for number in range(MAX_FREEZES):
        wanted = Freeze(f"f{number}", at(0), None, FreezeMatch(everything=True), now)
        assert create_freeze(context, "acme", wanted).outcome is FreezeOutcome.CREATED
    assert freezes_of(context, "acme").stop_at(now) is not None
