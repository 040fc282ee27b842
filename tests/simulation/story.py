"""One seed's story: two scanners, three executors, users, bad weather; then quiet until all is over.

What happens is drawn from the seed alone. `Story.play` returns the story with all that a checker needs.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random
from typing import Any

from tests.simulation.process import Process, Weather, simulated
from tests.simulation.world import LONGEST_LAG_MS, LaggingStore, Receiver, SimulatedCaller, UnrulyQueue
from timeball.domain.backfill import instants, new_backfill
from timeball.domain.catch_up import CatchUp, CatchUpPolicy
from timeball.domain.ids import BackfillKey, JobKey
from timeball.domain.instants import MINUTE_MS, SECOND_MS, parse_instant
from timeball.domain.job import HttpTarget, Job, JobStatus, Work
from timeball.domain.new_job import JobSpec
from timeball.domain.overlap import OverlapPolicy
from timeball.domain.retry import RetryPolicy
from timeball.domain.run import Run
from timeball.domain.schedule import At, Every, Schedule
from timeball.engine.backfill import cancel_backfill, create_backfills
from timeball.engine.change import Changed, Outcome, cancel, pause, resume, revise
from timeball.engine.cursor import Sweeps
from timeball.engine.dead_letter import judge
from timeball.engine.execute import execute
from timeball.engine.scan import scan
from timeball.engine.submit import submit
from timeball.engine.trigger import Trigger, trigger
from timeball.engine.world import Rules, World
from timeball.ports import Owner, UnavailableError
from timeball.testing.virtual_clock import VirtualClock

START = parse_instant("2026-11-21T09:30:00Z")
STORM_MS = 3 * MINUTE_MS
CALM_MS = 10 * MINUTE_MS
"""How long after the storm a story may take to come to its end."""

VISIBILITY_SECONDS = 90
"""How long a message is hidden that a killed executor had not hidden itself.

Less than the 900 s of a deployment, so that a story ends soon.
"""

_WORK = Work(HttpTarget("https://target.example/hook"), '{"n": 1}')


@dataclass(frozen=True)
class Done:
    """What a user was told (true time, ms): a verb, its job, the answer."""

    at: int
    verb: str
    job: JobKey
    answer: Any


@dataclass
class Story:
    """The world of one seed, and what came of it."""

    seed: int
    trace: Callable[[str], None] = field(default=lambda _: None)
    done: list[Done] = field(default_factory=list)
    killed: int = 0
    frozen: int = 0

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.clock = VirtualClock(START)
        self.weather = Weather(
            fails_before=self.random.choice((0, 0.01, 0.05)),
            fails_after=self.random.choice((0, 0.01, 0.05)),
            slow=self.random.choice((0, 0.01)),
        )
        self.store = LaggingStore(self.clock, self._new_random())
        self.queue = UnrulyQueue(self.clock, self._new_random())
        self.receiver = Receiver(self.clock, self._new_random())
        self.rules = Rules(shards=1)
        self.storm_ends_at = START + STORM_MS
        self.jobs: list[JobKey] = []
        self.scanners: list[Process] = []
        self.executors: dict[int, Process] = {}
        self._names = count(1)
        self._owners = count(1)

    def play(self) -> "Story":
        """Play the story to its end."""
        self.clock.run(self._play())
        return self

    async def _play(self) -> None:
        actors = [self._scanner(1), self._scanner(2), *(self._executor(number) for number in range(1, 4))]
        actors += [self._dead_letters(), self._mishaps()]
        tasks = [asyncio.create_task(actor) for actor in actors]
        await asyncio.gather(*(self._user(number) for number in range(1, 3)))
        await self.clock.sleep_until(self.storm_ends_at)
        self._calm_down()
        await self._until_over(tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _calm_down(self) -> None:
        self.trace("the storm is over")
        self.weather.fails_before = self.weather.fails_after = self.weather.slow = 0
        self.store.lags = self.queue.unruly = False
        self.receiver.statuses = (200,)

    async def _until_over(self, tasks: list["asyncio.Task[None]"]) -> None:
        """Wait until every run that was due a minute after the storm, or before, is over."""
        awake_at = max(process.frozen_until for process in self.scanners)
        await self.clock.sleep_until(max(self.ends_at, awake_at + LONGEST_LAG_MS + SECOND_MS))
        until = self.clock.now() + CALM_MS
        while self._is_going_on() and self.clock.now() < until:
            await self.clock.sleep_until(self.clock.now() + SECOND_MS)
            for task in tasks:
                if task.done():
                    task.result()

    @property
    def ends_at(self) -> int:
        """Until when (true time, ms) fires are looked at: recurring jobs go on for ever."""
        return self.storm_ends_at + MINUTE_MS

    def unfinished(self) -> list[Run]:
        """Return the runs that should be over: all but those that wait for their paused job."""
        return [
            run
            for run in self.store.runs.values()
            if not run.is_terminal and run.id.fire_at <= self.ends_at and not self._is_paused(run)
        ]

    def _is_going_on(self) -> bool:
        return bool(self.unfinished()) or any(one.due_at is not None for one in self.store.backfills.values())

    def _is_paused(self, run: Run) -> bool:
        return run.is_unstarted and self.store.jobs[run.id.job].status is JobStatus.PAUSED

    # --- processes -----------------------------------------------------------------------------------------------

    def _process(self, name: str) -> Process:
        skew_ms = self.random.randrange(-500, 501)
        return Process(name, self.clock, self._new_random(), self.weather, skew_ms, trace=self._traced)

    def _traced(self, text: str) -> None:
        self.trace(f"{self.clock.now() - START:>8} {text}")

    def _new_random(self) -> Random:
        return Random(self.random.random())

    def _world(self, process: Process) -> World:
        return World(simulated(self.store, process), simulated(self.queue, process), process, self.rules)

    async def _scanner(self, number: int) -> None:
        process = self._process(f"scanner-{number}")
        world, sweeps = self._world(process), Sweeps()
        owner, until = Owner("", ""), 0
        self.scanners.append(process)
        while True:
            now = self.clock.now()
            if now >= until:
                owner, until = Owner(f"{next(self._owners):06}", process.name), now + 20_000 + 20_000 * number
            try:
                found = await process.run(scan, world, 0, owner, sweeps)
            except UnavailableError:
                found = None
            if found is not None and found.backlog:
                continue
            await process.sleep_until(process.now() // SECOND_MS * SECOND_MS + SECOND_MS)

    async def _executor(self, number: int) -> None:
        """Run an executor; one that is killed is followed by another."""
        for life in count(1):
            process = self.executors[number] = self._process(f"executor-{number}.{life}")
            task = asyncio.create_task(self._invocations(process))
            try:
                while not process.is_dead:
                    await self.clock.sleep_until(self.clock.now() + SECOND_MS)
                    if task.done():
                        task.result()
            finally:
                task.cancel()

    async def _invocations(self, process: Process) -> None:
        world, caller = self._world(process), SimulatedCaller(self.receiver, process)
        for number in count(1):
            priority = "low" if process.random.random() < 0.3 else "normal"
            deliveries = self.queue.receive(priority, visibility_seconds=VISIBILITY_SECONDS)
            if not deliveries:
                await process.sleep_until(process.now() + 150)
                continue
            process.trace(f"{process.name} receives {', '.join(str(one.run) for one in deliveries)}")
            inbox = simulated(self.queue.inbox(priority), process)
            await execute(world, inbox, caller, deliveries, f"{process.name}/{number}", process.run)

    async def _dead_letters(self) -> None:
        process = self._process("dead-letters")
        world = self._world(process)
        while True:
            await process.sleep_until(process.now() + 5 * SECOND_MS)
            dead, self.queue.dead[:] = list(self.queue.dead), []
            if not dead:
                continue
            try:
                may_go = await process.run(judge, world, dead)
            except UnavailableError:
                may_go = [False] * len(dead)
            self.queue.dead += [run for run, gone in zip(dead, may_go, strict=True) if not gone]

    async def _mishaps(self) -> None:
        """Freeze and kill processes while the storm lasts, one alone or all of a kind."""
        while self.clock.now() < self.storm_ends_at:
            await self.clock.sleep_until(self.clock.now() + self.random.randrange(5_000, 60_000))
            if self.clock.now() >= self.storm_ends_at:
                return
            executors = list(self.executors.values())
            match self.random.choice(("kill", "freeze", "freeze", "no scanners", "no executors")):
                case "kill":
                    self.killed += 1
                    self.random.choice(executors).kill()
                case "freeze":
                    self.frozen += 1
                    self.random.choice([*self.scanners, *executors]).freeze(self.random.randrange(1_000, 90_000))
                case "no scanners":
                    for process in self.scanners:
                        process.freeze(self.random.randrange(20_000, 120_000))
                case _:
                    for process in executors:
                        process.freeze(self.random.randrange(20_000, 120_000))

    # --- users ---------------------------------------------------------------------------------------------------

    async def _user(self, number: int) -> None:
        process = self._process(f"user-{number}")
        world = self._world(process)
        while self.clock.now() < self.storm_ends_at:
            await self._act(process, world)
            await process.sleep_until(process.now() + self.random.randrange(500, 30_000))

    async def _act(self, process: Process, world: World) -> None:
        mine = [key for key in self.jobs if key.tenant == process.name]
        if len(mine) < 3:
            await self._submit(process, world)
            return
        key = self.random.choice(mine)
        verb = self.random.choice(("cancel", "pause", "resume", "resume", "revise", "trigger", "backfill", "submit"))
        process.trace(f"{process.name}: {verb} {key.job_id}")
        match verb:
            case "submit":
                await self._submit(process, world)
            case "cancel" if self.random.random() < 0.5:
                await self._ask(process, verb, key, cancel, world, [(key, None)])
            case "pause":
                await self._ask(process, verb, key, pause, world, [(key, None)])
            case "resume":
                await self._ask(process, verb, key, resume, world, [(key, None)])
            case "revise":
                await self._revise(process, world, key)
            case "trigger":
                request = f"request-{next(self._names)}"
                await self._ask(process, verb, key, trigger, world, [Trigger(key, request=request)])
            case "backfill":
                await self._backfill(process, world, key)

    async def _ask(self, process: Process, verb: str, key: JobKey, work: Callable[..., Any], *args: Any) -> Any:
        """Ask until there is an answer, as a client does after a 503."""
        while True:
            try:
                answer = await process.run(work, *args)
            except UnavailableError:
                await process.sleep_until(process.now() + SECOND_MS)
                continue
            first = answer[0] if isinstance(answer, list) else answer
            self.done.append(Done(self.clock.now(), verb, key, first))
            process.trace(f"{process.name}: {verb} {key.job_id} is answered")
            return first

    async def _submit(self, process: Process, world: World) -> None:
        key = JobKey(process.name, f"job-{next(self._names)}")
        spec = self._spec(key, process.now())
        await self._ask(process, "submit", key, submit, world, [spec], process.now())
        self.jobs.append(key)

    def _spec(self, key: JobKey, now: int) -> JobSpec:
        draw = self.random
        timing = draw.choice(
            (
                Every(draw.choice((2, 5, 10, 30)), now // SECOND_MS * SECOND_MS),
                Every(draw.choice((3, 7, 20, 60)), now // SECOND_MS * SECOND_MS),
                At(now + draw.randrange(-60_000, 120_000)),
            )
        )
        return JobSpec(
            key=key,
            schedule=Schedule(timing, max_runs=draw.choice((None, None, 4)) if isinstance(timing, Every) else None),
            work=_WORK,
            fingerprint="print",
            retry=RetryPolicy(max_retries=draw.choice((0, 2)), base_seconds=2, max_seconds=20),
            timeout_seconds=draw.choice((5, 60)),
            catch_up=CatchUp(draw.choice(tuple(CatchUpPolicy)), 5, draw.choice((90, 3600))),
            overlap=draw.choice((OverlapPolicy.ALLOW, *OverlapPolicy)),
            jitter_seconds=draw.choice((0, 0, 3)) if isinstance(timing, Every) else 0,
        )

    async def _revise(self, process: Process, world: World, key: JobKey) -> None:
        """Change the schedule, or only the tags; read again when somebody else was faster."""
        wanted = self._spec(key, process.now())
        tags_only = self.random.random() < 0.3
        for _ in range(10):
            job = await self._read(process, world, key)
            spec = replace(wanted, tags={"n": str(next(self._names))})
            if tags_only:
                spec = replace(spec, schedule=job.schedule, overlap=job.overlap)
            try:
                answer: Changed = (await process.run(revise, world, [(job, spec)]))[0]
            except UnavailableError:
                await process.sleep_until(process.now() + SECOND_MS)
                continue
            except ValueError:
                return
            if answer.outcome is not Outcome.STALE:
                self.done.append(Done(self.clock.now(), "revise", key, answer))
                return

    async def _read(self, process: Process, world: World, key: JobKey) -> Job:
        while True:
            try:
                job = (await process.run(world.store.read_jobs, [key], with_work=True))[0]
            except UnavailableError:
                continue
            assert job is not None
            return job

    async def _backfill(self, process: Process, world: World, key: JobKey) -> None:
        job = await self._read(process, world, key)
        now = process.now()
        fire_times = list(instants(job.schedule, now - self.random.choice((10_000, 60_000)), now))[:8]
        if not fire_times or not job.is_open:
            return
        policy = self.random.choice(tuple(OverlapPolicy))
        backfill = new_backfill(
            BackfillKey(key, f"bf{next(self._names)}"), job, fire_times, self.random.choice((0, 1, 3)), policy, now
        )
        await self._ask(process, "backfill", key, create_backfills, world, [backfill])
        if self.random.random() < 0.3:
            await process.sleep_until(process.now() + self.random.randrange(1, 20_000))
            await self._ask(process, "cancel backfill", key, cancel_backfill, world, backfill.key)
