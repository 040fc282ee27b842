"""Scenes of events, and of notices."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from tests.simulation.actors.events import receive_events
from tests.simulation.actors.scripted import (
    WEBHOOK,
    answers_with,
    changes,
    event,
    every,
    job,
    once,
    rests,
    revises_to,
    sends_events,
    submits_jobs,
)
from tests.simulation.scenes.scene import Scene
from tests.simulation.world.receiver import WEAVERS
from timeball.domain.model.ids import JobKey
from timeball.domain.model.terms.notify import Notify
from timeball.domain.time.schedule import OnEvents
from timeball.engine.changes.change import cancel, pause

_TELLS = Notify(
    on_failure=WEBHOOK,
    on_recovery=WEBHOOK,
    on_success=WEBHOOK,
    on_late=WEBHOOK,
    late_after_seconds=2,
    deadline_seconds=5,
)


def _key(name: str, tenant: str = "acme") -> JobKey:
    return JobKey(tenant, name)


SHOP = '{"source":["shop"]}'
BANK = '{"source":["bank"]}'

SCENES: Mapping[str, Scene] = {
    "jobs that listen to events": Scene(
        [
            (
                0,
                submits_jobs(
                    job("one", OnEvents(), event=SHOP),
                    job("two", OnEvents(), event=SHOP),
                    job("paused", OnEvents(), event=SHOP),
                    job("other", OnEvents(), event=BANK),
                    job("changed", OnEvents(), event=SHOP),
                    job("fires", every(7), event=SHOP),
                ),
            ),
            (1, changes(pause, "paused")),
            (2, sends_events(event(1))),
            (2.5, sends_events(event(1), event(2), depth=2)),
            (5, revises_to(_key("changed"), event=BANK)),
            (6, sends_events(event(3), event(4, "bank"))),
            (12, sends_events(event(5), event(1))),
            (25, rests),
        ],
        workers=(partial(receive_events, number=1), partial(receive_events, number=2)),
        kind=7,
    ),
    "a graph below jobs that listen to events": Scene(
        [
            (
                0,
                submits_jobs(
                    job("root", OnEvents(), event=SHOP, tenant="user-3"),
                    job("left", once(0), "root", inherits=True, tenant="user-3"),
                    job("right", once(0), "root", "left", inherits=True, tenant="user-3"),
                ),
            ),
            (2, sends_events(event(1), tenant="user-3")),
            (10, rests),
        ],
        workers=(partial(receive_events, number=1),),
        kind=7,
    ),
    "jobs that tell of their ends": Scene(
        [
            (
                0,
                submits_jobs(
                    job("told", every(4), notify=replace(_TELLS, on_late=None)),
                    job("late", once(2), notify=_TELLS),
                    job("punctual", once(3), notify=replace(_TELLS, deadline_seconds=None)),
                    job("pauses", every(3), pause_after_failures=2, notify=replace(_TELLS, on_late=None)),
                ),
            ),
            (1, answers_with(200, takes_ms=6_000)),
            (8, answers_with(404)),
            (18, answers_with(200)),
        ],
        kind=3,
    ),
    "jobs that their parents stop": Scene(
        [
            (0, answers_with(404)),
            (
                0,
                submits_jobs(
                    job("top", every(6), tenant=WEAVERS),
                    job(
                        "below",
                        every(6),
                        "top",
                        inherits=True,
                        tenant=WEAVERS,
                        notify=Notify(on_blocked=WEBHOOK, after_blocked=2),
                    ),
                ),
            ),
            (22, changes(cancel, "top", WEAVERS)),
        ]
    ),
}
