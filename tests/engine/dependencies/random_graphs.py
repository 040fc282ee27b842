"""Random graphs at work, compared with the reference: some cycles of them, with failures of the store and user actions.

`complaints(seed)` plays one. First comes the storm: calls fail, executors die, the store fails before or after a write,
and users pause, resume, postpone and cancel. After everything has come to rest the graph must stand as the reference
says. Then some of the dead jobs are retried or marked as succeeded, and the graph must match the reference again.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from tests.engine.dependencies.drawn_graphs import CYCLES, PERIOD, Place, Plan, places_of, planned
from tests.engine.dependencies.graphs import BEGIN, Graph, key
from tests.engine.dependencies.reference import (
    BLOCKED,
    CANCELLED,
    FAILED,
    RUNS,
    SKIPS,
    SUCCEEDED,
    Wish,
    becomes,
    expected,
)
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.dependency import ParentEnd, TriggerRule
from timeball.domain.time.instants import HOUR_MS, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At, Schedule
from timeball.engine.changes.change import cancel, pause, resume, revise
from timeball.engine.runs.manual import retry_runs, succeed_runs
from timeball.ports.errors import UnavailableError
from timeball.ports.target import Answer, Call
from timeball.targets.http.verdict import answered
from timeball.testing.faults import Points

_CALM = HOUR_MS
_ROUNDS = 3
_REFUSED = 404


class _Weather(Points):
    """Ports that fail now and then: before a write, or after it."""

    def __init__(self, draw: Random, odds: float) -> None:
        super().__init__()
        self._draw, self.odds = draw, odds

    def reach(self) -> None:
        if self.odds and self._draw.random() < self.odds:
            raise UnavailableError("the weather")


@dataclass
class _Story:
    """A plan that is played."""

    plan: Plan
    draw: Random
    found: list[str] = field(default_factory=list)
    answers: Counter[Place] = field(default_factory=Counter)
    finals: Counter[Place] = field(default_factory=Counter)
    mended: Counter[Place] = field(default_factory=Counter)
    meddled: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.graph = Graph(*self.plan.specs)
        self.graph.service.target.call = self._call  # type: ignore[method-assign]
        self.specs = {spec.key.job_id: spec for spec in self.plan.specs}
        self.ends = dict(self.plan.ends)
        self.cancelled: set[str] = set()
        self.weather = _Weather(self.draw, self.plan.odds)
        self.graph.play.points = self.weather

    def play(self) -> list[str]:
        with self.graph:
            for at, verb, name in sorted(self.plan.deeds):
                self._until(at)
                self._do(verb, name)
            self._until(BEGIN + (CYCLES - 1) * PERIOD + 3 * MINUTE_MS)
            self.weather.odds = 0
            for name in self.specs:
                self._do("resume", name)
            decided = self._compare({}, "after the storm")
            for number in range(_ROUNDS):
                dead = [place for place, stand in decided.items() if stand == FAILED and self._may_mend(place)]
                if not dead or self.found:
                    break
                count = self.draw.randint(1, len(dead))
                self._mend(self.draw.sample(dead, 1 if self._order_matters else count), decided)
                decided = self._compare(decided, f"mended {number + 1} times")
        return self.found

    @property
    def _order_matters(self) -> bool:
        """Return whether a job may run because another is dead: then the order of repairs decides whether it runs."""
        ends = {one.on for spec in self.plan.specs for one in spec.depends_on}
        return ParentEnd.FAILED in ends or any(spec.trigger_rule is TriggerRule.ANY_FAILED for spec in self.plan.specs)

    def _until(self, at: int) -> None:
        """Work until an instant; a scan that fails is followed by the next one."""
        while self.graph.play.clock.now() < at:
            try:
                self.graph.service.until(at)
            except UnavailableError:
                continue

    def _do(self, verb: str, name: str) -> None:
        """Do what a user does, and repeat the request until it is answered."""
        while True:
            try:
                self._do_once(verb, name)
            except UnavailableError:
                self._until(self.graph.play.clock.now() + SECOND_MS)
                continue
            return

    def _do_once(self, verb: str, name: str) -> None:
        context, spec = self.graph.play.context(), self.specs[name]
        match verb:
            case "pause":
                pause(context, [(spec.key, None)])
            case "resume":
                resume(context, [(spec.key, None)])
            case "cancel":
                cancel(context, [(spec.key, None)])
                self.cancelled.add(name)
            case "kill":
                self.graph.service.kill_executors()
            case "postpone" if spec.schedule.is_one_off and not spec.inherits:
                self.meddled.add(name)
                (job,) = context.store.jobs.read([spec.key], with_work=True)
                if job is not None and job.is_open:
                    later = Schedule(At(context.clock.now() + 40 * SECOND_MS))
                    revise(context, [(job, evolve(job.spec, schedule=later))])

    def _may_mend(self, place: Place) -> bool:
        return place[0] not in self.cancelled | self.meddled

    def _mend(self, slots: list[Place], decided: dict[Place, str]) -> None:
        """Retry dead runs, which succeed or die again, or mark them as succeeded."""
        for place in slots:
            run_id = self._run_of(place).id
            if self.draw.random() < 0.3:
                succeed_runs(self.graph.play.context(), [run_id], "by hand")
                decided[place] = self.ends[place] = SUCCEEDED
                continue
            self.mended[place] += 1
            if self.draw.random() < 0.7:
                decided[place] = self.ends[place] = SUCCEEDED
            retry_runs(self.graph.play.context(), [run_id])

    def _run_of(self, place: Place) -> Run:
        name, cycle = place
        runs = self.graph.play.runs(key(name))
        (run,) = runs if cycle is None else [run for run in runs if run.covers(BEGIN + cycle * PERIOD)]
        return run

    async def _call(self, call: Call) -> Answer:
        place = self._place(call.run)
        now = self.graph.play.clock.now()
        if place is None:
            return answered(call, now, now, 200)
        if not self.answers[place]:
            self._is_let_go_rightly(place)
        self.answers[place] += 1
        await self.graph.play.clock.sleep_until(now + self.draw.choice((0, 0, 300, 4_000)))
        status = 500
        if self.answers[place] > self.plan.fails[place]:
            self.finals[place] += 1
            status = 200 if self.ends[place] == SUCCEEDED else _REFUSED
        return answered(call, now, self.graph.play.clock.now(), status)

    def _place(self, run_id: RunId) -> Place | None:
        name = run_id.job.job_id
        if self.specs[name].schedule.is_one_off:
            return name, None
        cycle, rest = divmod(run_id.fire_at - BEGIN, PERIOD)
        return (name, cycle) if cycle < CYCLES and not rest and run_id.origin is Origin.SCHEDULE else None

    def _is_let_go_rightly(self, place: Place) -> None:
        """Check that the parents of a run allow it to run at its first call."""
        name, cycle = place
        spec = self.specs[name]
        stands = [(self._stands(self._beside(one.job_id, cycle)), one.on.value) for one in spec.depends_on]
        if stands and becomes(spec.trigger_rule.value, stands) != RUNS:
            self.found.append(f"{place} was called too early: {spec.trigger_rule} of {stands}")

    def _beside(self, name: str, cycle: int | None) -> Place:
        return name, None if self.specs[name].schedule.is_one_off else cycle

    def _stands(self, place: Place) -> str:
        """Return how a job stands, or its run in a cycle, in the words of the reference."""
        name, cycle = place
        job = self.graph.job(name)
        if cycle is None:
            rows = self.graph.play.runs(key(name))
            if job.status is JobStatus.SKIPPED:
                return _why([row for row in rows if row.state is RunState.SKIPPED][-1])
            return SUCCEEDED if job.status is JobStatus.COMPLETED else job.listed_status.value
        rows = [run for run in self.graph.play.runs(key(name)) if run.covers(BEGIN + cycle * PERIOD)]
        if len(rows) != 1:
            return CANCELLED if job.status is JobStatus.CANCELLED and not rows else f"{len(rows)} rows"
        return BLOCKED if rows[0].blocked is not None else _why(rows[0])

    def _compare(self, decided: Mapping[Place, str], when: str) -> dict[Place, str]:
        """Let everything come to rest, compare it with the reference, and return each standing that is final."""
        self._until(self.graph.play.clock.now() + _CALM)
        stands = {place: self._stands(place) for spec in self.plan.specs for place in places_of(spec)}
        facts = {**decided, **{place: stand for place, stand in stands.items() if place[0] in self.cancelled}}
        for cycle in range(CYCLES):
            here = {spec.key.job_id: self._beside(spec.key.job_id, cycle) for spec in self.plan.specs}
            wishes = [
                Wish(spec.key.job_id, [(one.job_id, one.on.value) for one in spec.depends_on], spec.trigger_rule.value)
                for spec in self.plan.specs
            ]
            wanted = expected(
                wishes,
                {name: self.ends[place] for name, place in here.items()},
                {name: facts[place] for name, place in here.items() if place in facts},
            )
            self.found += [
                f"{when}: {place} is {stands[place]}, and should be {wanted[name]}"
                for name, place in here.items()
                if stands[place] != wanted[name]
            ]
        self._count(stands, when)
        return {place: stand for place, stand in stands.items() if stand != BLOCKED}

    def _count(self, stands: Mapping[Place, str], when: str) -> None:
        """Check that no job is called that does not run, and that without losses each run is called to its end once."""
        is_calm = not self.plan.odds and not any(verb == "kill" for _, verb, _ in self.plan.deeds)
        for place, stand in stands.items():
            if place[0] in self.cancelled | self.meddled:
                continue
            ran, count = stand in (SUCCEEDED, FAILED), self.finals[place]
            if (count and not ran) or (is_calm and ran and count != 1 + self.mended[place]):
                self.found.append(f"{when}: {place} is {stand}, and was called {count} times")


def _why(run: Run) -> str:
    return run.reason.value if run.state is RunState.SKIPPED and run.reason in SKIPS else run.state.value


def complaints(seed: int) -> list[str]:
    """Play a graph, and return its faults."""
    draw = Random(f"the play of {seed}")  # noqa: S311 - a play is drawn from its seed
    return _Story(planned(seed), draw).play()
