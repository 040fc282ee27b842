"""Repeated work in some stories: submits under unique keys, triggers in a row, runs that newer runs replace.

A client without an answer repeats its request. All of this is drawn from its own stream.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

from tests.engine.submitting import submit_once
from tests.simulation.actors.client import Client
from tests.simulation.story import Story
from tests.simulation.world.receiver import HOSTS
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.tenants.actor import Actor
from timeball.domain.model.terms.flow import Debounce, Flow, Unique
from timeball.domain.model.terms.policies import OverlapPolicy, RetryPolicy, Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule, Timing
from timeball.engine.changes.change import cancel, pause, resume
from timeball.engine.context import Context
from timeball.engine.runs.trigger import Trigger, trigger
from timeball.engine.scheduling.submit import Submission, submit

KEYS = ("a", "b", "c")
_COLLECTING = {"push-1": Debounce(2, 8), "push-2": Debounce(12, 40)}
_SUPERSEDING = {
    "newest-1": (5, OverlapPolicy.ALLOW),
    "newest-2": (7, OverlapPolicy.QUEUE_ONE),
    "newest-3": (6, OverlapPolicy.CANCEL_OTHER),
}
_FLOWS = (
    Flow(Unique("")),
    Flow(Unique("", 20)),
    Flow(Unique(""), Debounce(3, 9)),
    Flow(Unique(""), Debounce(3, 9)),
    Flow(Unique("", 15), Debounce(4, 12)),
)
_AGAIN = 0.4
_VERBS = (*["push"] * 4, *["unique"] * 3, "trigger", "pause", "resume", "resume", "cancel")


@dataclass
class _Again(Client):
    """A client that sends the same kind of request repeatedly. A named request in `sent` may be sent again."""

    sent: list[tuple[JobKey, Trigger]] = field(default_factory=list)

    @property
    def by(self) -> Actor:
        return Actor(f"{self.process.name}-{next(self.story.requests)}")

    def spec(self, name: str, timing: Timing, draw: Random, flow: Flow, overlap: OverlapPolicy) -> JobSpec:
        work = Work(HttpTarget(f"https://{draw.choice(HOSTS)}/hook"), f'{{"n": {next(self.story.names)}}}')
        retry = RetryPolicy(draw.choice((0, 2)), 2, max_seconds=20)
        key = JobKey(self.process.name, name)
        spec = JobSpec(key, Schedule(timing), work, "print", retry=retry, timeout_seconds=60)
        return replace(spec, overlap=overlap, flow=flow)

    async def begin(self, draw: Random) -> list[JobKey]:
        """Submit the jobs that exist throughout the story."""
        now = self.process.now() // SECOND_MS * SECOND_MS
        specs = [
            self.spec(name, Every(3600, now), draw, Flow(debounce=debounce), OverlapPolicy.ALLOW)
            for name, debounce in _COLLECTING.items()
        ]
        specs += [
            self.spec(name, Every(seconds, now), draw, Flow(supersede=True), overlap)
            for name, (seconds, overlap) in _SUPERSEDING.items()
        ]
        answers = [await self.ask("submit", one.key, submit, [one], self.process.now(), self.by) for one in specs]
        return [one.key for one, answer in zip(specs, answers, strict=True) if answer is not None]

    async def push(self, key: JobKey, draw: Random) -> None:
        """Trigger a job, mostly by a request that may be sent again."""
        name = f"push-{next(self.story.names)}"
        request = name if draw.random() < 0.7 else None
        payload = f'{{"n": "{name}"}}' if draw.random() < 0.7 else None
        asked = Trigger(key, payload, payload is not None, request, fingerprint=name)
        await self.ask("push", key, trigger, [asked], self.by)
        if request is not None:
            self.sent.append((key, asked))
        if self.sent and draw.random() < _AGAIN:
            key, asked = draw.choice(self.sent[-4:])
            await self.ask("push", key, trigger, [asked], self.by)

    async def submit_unique(self, draw: Random) -> None:
        """Submit a job under one of a few unique keys."""
        flow, key = draw.choice(_FLOWS), draw.choice(KEYS)
        unique = replace(flow.unique or Unique(""), key=key)
        wait_ms = 0 if flow.debounce is None else flow.debounce.seconds * SECOND_MS
        at = self.process.now() + (wait_ms or draw.choice((0, 10_000)))
        name = f"once-{next(self.story.names)}"
        spec = self.spec(name, At(at), draw, replace(flow, unique=unique), OverlapPolicy.ALLOW)
        await self.ask("unique", spec.key, submit_each_once, [spec], name, self.by)


def submit_each_once(context: Context, specs: Sequence[JobSpec], mark: str, by: Actor) -> list[tuple[Submission, Job]]:
    return [submit_once(context, spec, mark, by) for spec in specs]


async def come_again(story: Story, number: int) -> None:
    """Perform one action after another during the storm."""
    draw = Random(f"what comes again {story.seed} {number}")
    again = _Again(story, story.new_process(f"user-again-{number}"))
    keys = await again.begin(draw) if number == 1 else []
    pushed = [key for key in keys if key.job_id in _COLLECTING]
    while story.clock.now() < story.storm_ends_at:
        verb = draw.choice(_VERBS)
        if verb == "unique":
            await again.submit_unique(draw)
        elif verb == "push" and pushed:
            await again.push(draw.choice(pushed), draw)
        elif verb == "trigger" and keys:
            await again.push(draw.choice(keys), draw)
        elif verb in ("pause", "resume") and keys:
            key = draw.choice(keys)
            await again.ask(verb, key, pause if verb == "pause" else resume, [(key, None)], again.by)
        elif verb == "cancel":
            made = [key for key in story.store.jobs if key.tenant == again.process.name and key not in keys]
            if made:
                key = draw.choice(made)
                await again.ask(verb, key, cancel, [(key, None)], again.by)
        await again.process.sleep_until(again.process.now() + draw.randrange(100, 4_000))
