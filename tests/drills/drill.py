"""A drill: what is broken, the alarms that must go off and within what time, and what else must hold.

A drill plays three phases in virtual time: calm, the trouble, and the time after it was mended. The judge evaluates the
alarms of the stack over all three. So an alarm that comes late, or only because the trouble is over, is found too.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from aws_cdk import App, Stack

from infra.alarms import Alarms
from infra.queues import Queues
from infra.settings import Settings
from tests.drills.deployment import OPERATORS, PARTITIONS, Broken, Deployment
from tests.drills.judge import MINUTE_MS, Series, alarms_of, judged
from tests.engine.play import spec
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobSpec, Priority
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import Every, next_fire
from timeball.ports.target import Call

ON_TIME_MS: Final = SECOND_MS
_BEFORE_MINUTES: Final = 360
"""For how long the deployment had run before: as long as the longest memory of an alarm that may page."""
CANARY_MINUTES: Final = 5
REPAIRED_SECONDS: Final = 10
"""How long after the mend a run may begin late, in any drill."""
_LEFT_MS: Final = MINUTE_MS
"""The newest fires, whose runs may not be over when a drill ends."""

Check = Callable[[Deployment, int, int], Iterator[str]]
"""Yields what did not hold, given when the trouble began and when it ended (ms)."""


def nothing_more(deployment: Deployment, from_at: int, to_at: int) -> Iterator[str]:  # noqa: ARG001
    """Hold nothing more than each drill does."""
    yield from ()


@dataclass(frozen=True)
class Drill:
    """A drill."""

    name: str
    """Its name, as in `make drill NAME=…`."""
    trouble: str
    """What is broken."""
    breaks: Callable[[Deployment], object]
    """Breaks it."""
    alarms: Mapping[str, int] = field(default_factory=dict)
    """The alarms that go off, and within how many seconds each; its own is the first."""
    holds: str = ""
    """The further promises that it checks, as text for the table."""
    check: Check = nothing_more
    """Checks it."""
    mends: Callable[[Deployment], object] = lambda deployment: setattr(deployment, "broken", Broken())
    """Mends it."""
    begins: Callable[[Deployment], object] = lambda deployment: deployment.submit(jobs(deployment))
    """Makes the jobs."""
    minutes: tuple[float, float, float] = (1.5, 6, 8)
    """How long the calm, the trouble, and the time after it last."""
    runs_a_minute: int = 9
    """How many runs a minute there had been before."""
    leaps: bool = False
    """Whether ticks are leaped over while nothing is due: of a drill that lasts for hours."""
    repaired_within: int = REPAIRED_SECONDS
    """How many seconds after the mend runs may begin late."""
    is_long: bool = False
    """Whether `make test` leaves it out."""


@dataclass(frozen=True)
class Played:
    """The result of a drill."""

    alarms: Mapping[str, int]
    """The alarms that notify people, and after how many seconds of trouble each went off first."""
    over: Mapping[str, int]
    """After how many seconds of calm each was over."""
    repaired: int
    """After how many seconds of calm the last run that was still late began."""
    faults: Sequence[str]
    """What did not hold."""


def jobs(
    deployment: Deployment, count: int = 3, seconds: int = 20, priority: Priority = Priority.NORMAL
) -> list[JobSpec]:
    """Return recurring jobs, which fire at different instants."""
    begun_at = deployment.clock.now()
    names = [f"{priority}-{number}" for number in range(count)]
    timings = [Every(seconds, begun_at + (number + 1) * SECOND_MS) for number in range(count)]
    return [replace(spec(name, timing), priority=priority) for name, timing in zip(names, timings, strict=True)]


def alarms_template(partitions: int, archive: str = "off", lifecycle_events: str = "") -> dict[str, Any]:
    """Return the template of the alarms and queues alone. A test compares its alarms with those of the whole stack."""
    context = {"timeball:stage": "small", "timeball:alarms": "on", "timeball:partitions": str(partitions)}
    context |= {"timeball:archive": archive, "timeball:lifecycle_events": lifecycle_events}
    with TemporaryDirectory() as folder:
        app = App(outdir=folder)
        stack, settings = Stack(app, "Timeball"), Settings.read(context)
        Alarms(stack, "Alarms", settings, Queues(stack, "Queues", settings))
        path = Path(app.synth().directory) / "Timeball.template.json"
        template: dict[str, Any] = json.loads(path.read_text())
    return template


def play(drill: Drill, template: Mapping[str, Any]) -> Played:
    """Play a drill, and judge the alarms over its metrics."""
    deployment = Deployment(leaps=drill.leaps)
    record_before(deployment.series, deployment.begun_at, drill.runs_a_minute)
    calm, trouble, after = drill.minutes
    drill.begins(deployment)
    deployment.run(calm)
    broken_at = deployment.clock.now()
    drill.breaks(deployment)
    deployment.run(trouble)
    mended_at = deployment.clock.now()
    drill.mends(deployment)
    deployment.run(after)
    found = notified(template, deployment.series, deployment.begun_at, deployment.clock.now())
    begun = {name: (minutes[0] - broken_at) // SECOND_MS for name, minutes in found.items()}
    over = {name: (minutes[-1] + MINUTE_MS - mended_at) // SECOND_MS for name, minutes in found.items()}
    faults = [*_unkept(deployment), *drill.check(deployment, broken_at, mended_at)]
    repaired = max(
        (at - mended_at for at, call in deployment.calls if at >= mended_at and _is_late(at, call)), default=0
    )
    deployment.close()
    return Played(begun, over, -(-repaired // SECOND_MS), faults)


def _is_late(at: int, call: Call) -> bool:
    """Return whether a run began late. Later attempts, and the canary, which may wait for a catch-up, do not count."""
    return call.attempt == 1 and at - call.run.fire_at > ON_TIME_MS and call.run.job.tenant != OPERATORS


def notified(template: Mapping[str, Any], series: Series, from_at: int, to_at: int) -> dict[str, list[int]]:
    """Return the minutes (ms) at which each alarm that notifies people is in ALARM."""
    notifying = {name for name, alarm in alarms_of(template).items() if "AlarmActions" in alarm}
    found = judged(template, series, from_at, to_at)
    return {name: minutes for name, minutes in found.items() if name in notifying}


def faults_of(drill: Drill, played: Played) -> list[str]:
    """Return what a drill shows that it must not show."""
    faults = list(played.faults)
    faults += [f"{name} goes off after {played.alarms[name]} s" for name in played.alarms.keys() - drill.alarms.keys()]
    if played.repaired > drill.repaired_within:
        faults.append(f"a run begins late {played.repaired} s after the mend, not within {drill.repaired_within} s")
    for name, within in drill.alarms.items():
        seconds = played.alarms.get(name)
        if seconds is None:
            faults.append(f"{name} does not go off")
        elif not 0 < seconds <= within:
            faults.append(f"{name} goes off after {seconds} s, not within {within} s")
    return faults


def on_time(prefix: str) -> Check:
    """Return a check that the jobs of a prefix were called on time during the trouble, and once for each fire."""

    def check(deployment: Deployment, from_at: int, to_at: int) -> Iterator[str]:
        calls = [(at, call) for at, call in deployment.calls if call.run.job.job_id.startswith(prefix)]
        within = [(at, call) for at, call in calls if from_at <= call.run.fire_at < to_at]
        if not within:
            yield f"no run of {prefix} was called"
        for at, call in within:
            if not 0 <= at - call.run.fire_at <= ON_TIME_MS:
                yield f"{call.run} was called {at - call.run.fire_at} ms after its instant"
        expected = {run.id for job in _keys(deployment, prefix) for run in deployment.runs(job)}
        missing = [run for run in expected if from_at <= run.fire_at < to_at] if expected else []
        called = {call.run for _, call in within}
        yield from (f"{run} was not called" for run in missing if run not in called)

    return check


def _keys(deployment: Deployment, prefix: str) -> list[JobKey]:
    return [key for key in deployment.store.jobs if key.job_id.startswith(prefix)]


def record_before(series: Series, begun_at: int, runs_a_minute: int) -> None:
    """Record ticks, runs on time, and arrivals of the canary from before an instant (ms)."""
    for minute in range(_BEFORE_MINUTES, 0, -1):
        at = begun_at - minute * MINUTE_MS
        series.record("Ticks", at, PARTITIONS * 60)
        for _ in range(runs_a_minute):
            series.record("Lateness", at, 100)
        if minute % CANARY_MINUTES == 0:
            series.record("CanaryDelay", at, 100)
            series.record("Watch.NumberOfMessagesDeleted", at, 1)


def _unkept(deployment: Deployment) -> Iterator[str]:
    """Yield each promise that was not kept: each fire has one row, each run is over, and no attempt is called twice."""
    until = deployment.clock.now() - _LEFT_MS
    for key in _keys(deployment, ""):
        rows = [run for run in deployment.runs(key) if run.id.fire_at <= until]
        yield from _holes(deployment, key, rows, until)
        for run in rows:
            if not run.is_terminal:
                yield f"{run.id} is {run.state}"
    calls: dict[tuple[object, int], list[Call]] = {}
    for _, call in deployment.calls:
        calls.setdefault((call.run, call.attempt), []).append(call)
    yield from (
        f"{run} was called {len(ones)} times in attempt {attempt}"
        for (run, attempt), ones in calls.items()
        if len(ones) > 1
    )


def _holes(deployment: Deployment, key: JobKey, rows: Sequence[Run], until: int) -> Iterator[str]:
    """Yield the fires of a recurring job that no row covers, or several."""
    schedule = deployment.store.jobs[key].spec.schedule
    fires = [row.id.fire_at for row in rows]
    if len({*fires}) < len(fires):
        yield f"{key} has two rows of one fire"
    expected = fires[0] if fires else None
    for row in rows:
        if expected is not None and row.id.fire_at != expected:
            yield f"{key} has a row at {row.id.fire_at}, and not at {expected}"
        expected = next_fire(schedule, row.last_fire_at or row.id.fire_at)
    if expected is not None and expected <= until and key.tenant != OPERATORS:
        yield f"{key} has no row at {expected}"


def failed(runs: Sequence[Run]) -> list[Run]:
    """Return the runs that failed for good."""
    return [run for run in runs if run.state is RunState.FAILED]
