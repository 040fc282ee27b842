"""Users who submit jobs and change them, and their requests, some of which are cut off."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from tests.simulation.actors.blackouts import change_calendar, freeze, with_moved_fires
from tests.simulation.actors.client import Client
from tests.simulation.actors.edge import cancelling, revising, submitting
from tests.simulation.actors.events import listening
from tests.simulation.actors.executions import following
from tests.simulation.actors.notices import telling
from tests.simulation.actors.quotas import with_keys
from tests.simulation.actors.tasks import of_task
from tests.simulation.story import Done, Story
from tests.simulation.unfinished import unfinished
from tests.simulation.world.receiver import HOSTS, REPORTS_LATER
from timeball.api.http.problems import ProblemError
from timeball.domain.backfill import instants, new_backfill
from timeball.domain.model.ids import BackfillKey, JobKey, RunId
from timeball.domain.model.jobs.calendar import CalendarUse
from timeball.domain.model.jobs.job import Completion, Guarantee, Job, JobSpec
from timeball.domain.model.reason import Reason
from timeball.domain.model.tenants.actor import Action, Actor
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy, OverlapPolicy, RetryPolicy, Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule
from timeball.engine.backfills import cancel_backfill, create_backfills
from timeball.engine.changes.change import ChangeOutcome, cancel, pause, resume, skip_next
from timeball.engine.changes.skip import Skipping
from timeball.engine.context import Context
from timeball.engine.runs.dead_letters import DeadFilter, Dealt, discard, list_dead, read_dead, replay
from timeball.engine.runs.manual import cancel_runs, retry_runs
from timeball.engine.runs.trigger import Trigger, trigger
from timeball.engine.scheduling.submit import submit
from timeball.ports.errors import UnavailableError

_PERIODS = (2, 3, 5, 7, 10, 10, 15, 20, 20, 20, 30, 30, 60, 60)
_LONG_PERIODS = (20, 30, 60)
_VERBS = (
    "cancel",
    "pause",
    "resume",
    "resume",
    "revise",
    "trigger",
    "skip",
    "backfill",
    "submit",
    "freeze",
    "calendar",
)
_ABOUT_RUNS = 0.25
_WITH_A_CALENDAR = 0.2
_OF_RUNS = ("retry", "retry", "cancel run", "replay", "discard")


async def act(story: Story, number: int) -> None:
    """Perform one action after another during the storm."""
    user = _User(story, story.new_process(f"user-{number}"))
    story.users.append(user.process)
    if story.moves_fires:
        await change_calendar(user, JobKey(user.process.name, "none"))
    while story.clock.now() < story.storm_ends_at:
        await user.act()
        await user.process.sleep_until(user.process.now() + story.slowness * story.random.randrange(500, 30_000))


async def give_up(story: Story) -> None:
    """Cancel runs that still wait for their host, at the end of a long story: they might wait for ten minutes more."""
    user = _User(story, story.users[0])
    for run in unfinished(story):
        if run.reason is Reason.CIRCUIT_OPEN:
            await user.ask("cancel run", run.id.job, cancel_runs, [run.id])


class _User(Client):
    """A user, who owns the jobs of a tenant, and also changes jobs of others, with a different API key each time."""

    @property
    def by(self) -> Actor:
        """The actor of the next request."""
        return Actor(f"{self.process.name}-{next(self.story.requests)}")

    async def act(self) -> None:
        story = self.story
        mine = [key for key in story.jobs if key.tenant == self.process.name]
        if len(mine) < 3:
            await self._submit()
            return
        key = story.random.choice(story.random.choice((mine, story.jobs, story.jobs[-1:], story.touched or mine)))
        story.touched = [key]
        if story.random.random() < _ABOUT_RUNS:
            await self._deal_with_runs(key)
            return
        verb = story.random.choice(_VERBS)
        if verb in _ACTS:
            await _ACTS[verb](self, key)
        elif verb == "submit":
            await self._submit()
        elif verb != "cancel":
            await self.ask(verb, key, pause if verb == "pause" else resume, [(key, None)], self.by)
        elif story.random.random() < 0.5:
            await self.ask(verb, key, cancelling(self, cancel), [(key, None)], self.by)

    async def _deal_with_runs(self, key: JobKey) -> None:
        draw, verb = self.story.random, self.story.random.choice(_OF_RUNS)
        runs = [run for run in self.story.store.runs.values() if run.id.job == key]
        dead = [run.id for run in runs if run.is_dead_letter]
        live = [run.id for run in runs if not run.is_terminal]
        match verb:
            case "retry" if dead or live:
                await self.ask(verb, key, retry_runs, [draw.choice(dead or live)])
            case "cancel run" if live:
                await self.ask(verb, key, cancel_runs, [draw.choice(live)])
            case "replay":
                asked = DeadFilter(key.tenant, job=draw.choice((key, None)))
                await self.ask(verb, key, replay_some, asked, draw.choice((1, 5)))
            case "discard" if dead:
                await self.ask(verb, key, _discard, [draw.choice(dead)])

    async def _submit(self) -> None:
        key = JobKey(self.process.name, f"job-{next(self.story.names)}")
        spec = telling(self.story, with_moved_fires(self.story, of_task(self.story, self._spec(key))))
        spec = following(self.story, listening(self.story, spec))
        answer = None
        with suppress(ProblemError):
            answer = await self.ask("submit", key, submitting(self, submit), [spec], self.process.now(), self.by)
        if answer is not None:
            self.story.jobs += [key] if key in self.story.store.jobs else []  # the checker complains of a missing job

    def _spec(self, key: JobKey) -> JobSpec:
        draw, now = self.story.random, self.process.now()
        later = draw.random() < 0.3
        every = Every(draw.choice(_LONG_PERIODS if self.story.is_long else _PERIODS), now // SECOND_MS * SECOND_MS)
        timing = draw.choice((every, every, At(now + draw.randrange(-60_000, 120_000))))
        url = REPORTS_LATER if later else f"https://{draw.choice(HOSTS[:1] if self.story.is_long else HOSTS)}/hook"
        spec = JobSpec(
            key=key,
            schedule=Schedule(timing, max_runs=draw.choice((None, None, 4)) if isinstance(timing, Every) else None),
            work=Work(HttpTarget(url), self._payload()),
            fingerprint="print",
            retry=RetryPolicy(draw.choice((0, 2)), 2, max_seconds=20, max_age_seconds=draw.choice((None, None, 10))),
            timeout_seconds=draw.choice((5, 60)),
            completion=Completion.CALLBACK if later else Completion.ANSWER,
            heartbeat_seconds=draw.choice((None, 5, 10)) if later else None,
            delivery=draw.choice((Guarantee.AT_LEAST_ONCE, Guarantee.AT_LEAST_ONCE, Guarantee.AT_MOST_ONCE)),
            catch_up=CatchUp(draw.choice(tuple(CatchUpPolicy)), 5, draw.choice((90, 3600))),
            overlap=draw.choice((OverlapPolicy.ALLOW, *OverlapPolicy)),
            jitter_seconds=draw.choice((0, 0, 3)) if isinstance(timing, Every) else 0,
            calendar=CalendarUse("closed") if draw.random() < _WITH_A_CALENDAR else None,
        )
        return with_keys(self.story, spec)

    def _payload(self) -> str:
        """Return a payload that no other call has."""
        return f'{{"n": {next(self.story.names)}}}'

    async def skip(self, key: JobKey) -> None:
        """Skip a job's next fire."""
        self.story.skips[key] += 1
        await self.ask("skip", key, skip_next, [Skipping(key, request=f"skip-{next(self.story.names)}")], self.by)

    async def trigger(self, key: JobKey) -> None:
        """Trigger a job now."""
        asked = Trigger(key, request=f"request-{next(self.story.names)}")
        if self.story.random.random() < 0.3:
            asked = replace(asked, payload=self._payload(), has_payload=True)
        await self.ask("trigger", key, trigger, [asked], self.by)

    async def revise(self, key: JobKey) -> None:
        """Change all, or only the tags, or the instant of a one-off. Read again if another writer was faster."""
        story = self.story
        wanted = replace(with_moved_fires(story, of_task(story, self._spec(key))), tags={"n": str(next(story.names))})
        wanted = following(story, listening(story, telling(story, wanted)))
        change = story.random.choice(("all", "all", "tags", "instant"))
        for _ in range(10):
            job = await self._read(key)
            spec = wanted
            if change == "tags":
                spec = replace(spec, schedule=job.spec.schedule, event=job.spec.event, overlap=job.spec.overlap)
            elif change == "instant" and isinstance(job.spec.schedule.timing, At):
                later = At(self.process.now() + story.random.randrange(60_000))
                timing = replace(job.spec.schedule, timing=later)
                spec = replace(spec, schedule=timing, event=job.spec.event, overlap=job.spec.overlap)
            try:
                answer = await self.request("revise", key, revising(self), [(job, spec)], Action.PUT, self.by)
            except (ValueError, ProblemError):
                return
            if answer is not None and answer[0].outcome is not ChangeOutcome.STALE:
                story.done.append(Done(story.clock.now(), "revise", key, answer[0]))
                return
            await self.process.sleep_until(self.process.now() + SECOND_MS)

    async def _read(self, key: JobKey) -> Job:
        while True:
            try:
                job = (await self.process.run(self.context.store.jobs.read, [key], with_work=True))[0]
            except UnavailableError:
                continue
            assert job is not None
            return job

    async def backfill(self, key: JobKey) -> None:
        """Backfill the recent fires of a job."""
        story, draw = self.story, self.story.random
        job = await self._read(key)
        now = self.process.now()
        fire_times = list(instants(job.spec.schedule, now - draw.choice((10_000, 60_000)), now))[:8]
        if not fire_times or not job.is_open:
            return
        name, policy = f"bf{next(story.names)}", draw.choice(tuple(OverlapPolicy))
        backfill = new_backfill(BackfillKey(key, name), job, fire_times, draw.choice((0, 1, 3)), policy, now)
        await self.ask("backfill", key, create_backfills, [backfill])
        if draw.random() < 0.3:
            await self.process.sleep_until(self.process.now() + draw.randrange(1, 20_000))
            await self.ask("cancel backfill", key, _cancel_backfill, backfill.key)


def _cancel_backfill(context: Context, key: BackfillKey) -> tuple[RunId, ...]:
    """Cancel a backfill, if it was stored, and return its runs that were asked to stop."""
    (standing,) = context.store.backfills.read([key])
    return () if standing is None else cancel_backfill(context, standing)[1]


def replay_some(context: Context, asked: DeadFilter, per_second: int) -> Dealt:
    return replay(context, list_dead(context, asked, 20, oldest_first=True), per_second)


def _discard(context: Context, ids: Sequence[RunId]) -> Dealt:
    return discard(context, read_dead(context, ids))


_ACTS: Mapping[str, Callable[[_User, JobKey], Awaitable[None]]] = {
    "revise": _User.revise,
    "trigger": _User.trigger,
    "skip": _User.skip,
    "backfill": _User.backfill,
    "freeze": freeze,
    "calendar": change_calendar,
}
