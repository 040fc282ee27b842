"""Scenes of limits, repeated work, calendars, freezes and pauses."""

from collections.abc import Mapping
from functools import partial

from tests.simulation.actors.events import receive_events
from tests.simulation.actors.on_cue import binds_tenants
from tests.simulation.actors.scripted import (
    answers_with,
    changes,
    closes,
    disables,
    enables,
    event,
    every,
    freezes_tenant,
    job,
    once,
    pushes_to,
    rests,
    sends_events,
    submits_jobs,
)
from tests.simulation.scenes.scene import COUNTED, LIMITED, Scene
from tests.simulation.story import THE_DAY_BEFORE
from timeball.domain.model.jobs.calendar import CalendarPolicy, CalendarUse
from timeball.domain.model.terms.flow import ConcurrencyLimit, Debounce, Flow, RateLimit
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy, OverlapPolicy
from timeball.domain.time.schedule import OnEvents
from timeball.engine.changes.change import pause, resume

SHOP = '{"source":["shop"]}'
_ONE = Flow(concurrency=ConcurrencyLimit("key", 1))
_RATE = Flow(rate=RateLimit("rate", 1))
_BOTH = Flow(concurrency=ConcurrencyLimit("key", 2), rate=RateLimit("rate", 1))

SCENES: Mapping[str, Scene] = {
    "runs under limiters": Scene(
        [
            (
                0,
                submits_jobs(
                    *(job(f"slot-{n}", once(2 + n // 3), flow=_ONE) for n in range(6)),
                    *(job(f"turn-{n}", once(2), flow=_RATE) for n in range(8)),
                    *(job(f"both-{n}", once(4), flow=_BOTH) for n in range(6)),
                ),
            ),
            (1, answers_with(200, takes_ms=1_500)),
            (20, rests),
        ],
        kind=LIMITED,
        executors=3,
    ),
    "lines in front of a limiter": Scene(
        [
            (
                0,
                submits_jobs(
                    *(job(f"slot-{n}", once(2), flow=_ONE) for n in range(4)),
                    *(job(f"turn-{n}", once(2), flow=_RATE) for n in range(4)),
                ),
            ),
            (1, answers_with(200, takes_ms=500)),
            (5, rests),
        ],
        kind=LIMITED,
        executors=2,
    ),
    "repeated triggers and submits": Scene(
        [
            (
                0,
                submits_jobs(
                    job("collects", every(3_600), flow=Flow(debounce=Debounce(8, 20))),
                    job("newest", every(4), flow=Flow(supersede=True)),
                    job("queued", every(5), overlap=OverlapPolicy.QUEUE_ONE, flow=Flow(supersede=True)),
                ),
            ),
            (2, pushes_to("collects", "push-1")),
            (3, pushes_to("collects", "push-2")),
            (4, pushes_to("collects", "push-2")),
            (4.5, pushes_to("collects", "push-1")),
            (4.6, answers_with(200, takes_ms=7_000)),
            (14, pushes_to("collects", "push-3")),
            (15, pushes_to("collects", "push-1")),
            (30, rests),
        ],
        kind=5,
        executors=2,
    ),
    "more jobs than a tenant may have": Scene(
        [
            (0, binds_tenants),
            *((1 + n, submits_jobs(job(f"job-{n}", once(60), tenant="user-1"))) for n in range(6)),
        ],
        kind=COUNTED,
    ),
    "a calendar that closes a day": Scene(
        [
            (0, closes(THE_DAY_BEFORE)),
            (
                0,
                submits_jobs(
                    job(
                        "moves", every(7 * 86_400), tenant="user-1", calendar=CalendarUse("closed", CalendarPolicy.NEXT)
                    ),
                    job("skips", every(15), calendar=CalendarUse("closed"), tenant="user-1"),
                ),
            ),
            (20, closes(THE_DAY_BEFORE, "2026-12-24")),
            (80, rests),
        ]
    ),
    "a freeze of jobs that catch up": Scene(
        [
            (
                0,
                submits_jobs(
                    *(
                        job(f"free-{n}", every(4), tenant="user-2", catch_up=CatchUp(policy, 5, 90))
                        for n, policy in enumerate(CatchUpPolicy)
                    ),
                    job("listens", OnEvents(), event=SHOP, tenant="user-2"),
                ),
            ),
            (6, freezes_tenant("user-2", 14)),
            (9, pushes_to("free-0", "by hand", "user-2")),
            (10, sends_events(event(1), tenant="user-2")),
            (40, rests),
        ],
        workers=(partial(receive_events, number=1),),
    ),
    "a pause of jobs that catch up": Scene(
        [
            (
                0,
                submits_jobs(
                    *(
                        job(f"free-{n}", every(4), tenant="user-2", catch_up=CatchUp(policy, 5, 90))
                        for n, policy in enumerate(CatchUpPolicy)
                    )
                ),
            ),
            *((6, changes(pause, f"free-{n}", "user-2")) for n in range(3)),
            *((20, changes(resume, f"free-{n}", "user-2")) for n in range(3)),
        ]
    ),
    "a tenant that is disabled": Scene(
        [
            (0, submits_jobs(job("seldom", every(3_600), tenant="user-3"))),
            (5, disables("user-3")),
            (6, pushes_to("seldom", "by hand", "user-3")),
            (12, enables("user-3")),
        ]
    ),
}
