"""Meetings of two actors: one is stopped in its work while another does all of its own, and then the first goes on.

The weather of a story is wild, but leaves to chance what two actors do at the same time. In a meeting it is calm, and
nothing is left to chance: each meeting is played once for each moment before and after a call of the first actor. Then
everything comes to rest.
"""

import asyncio
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from tests.simulation.actors.executors import execute_messages
from tests.simulation.actors.on_cue import (
    ONE_A_SECOND,
    ONE_AT_ONCE,
    Verb,
    asks_for_a_job,
    binds_tenants,
    calls_two_paths,
    cancels,
    cancels_its_run,
    claims,
    closes_the_day,
    crowds,
    executes,
    fails,
    freezes,
    gives_up,
    pauses,
    plans_slowly,
    process_of,
    purges,
    pushes,
    resumes,
    retries_all,
    revises,
    scans,
    scans_in_small_chunks,
    small_crowds,
    submits,
    submits_one_that_collects,
    submits_three,
    submits_under_a_key,
    submits_under_a_unique_key,
    submits_with_a_calendar,
    swaps_a_dependency,
    triggers,
    weaves,
)
from tests.simulation.actors.workers import judge_dead_letters, scan_each_second, watch_over_runs
from tests.simulation.checker import complaints
from tests.simulation.story import START, Story
from tests.simulation.unfinished import is_going_on
from tests.simulation.world.process import CutOffError, Stop
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every
from timeball.ports.errors import UnavailableError

_MEANWHILE_MS = SECOND_MS

_CALM_SECONDS = 30

_LONGEST_SECONDS = 300

_LOSSY, _LIMITED, _QUOTAS = 2, 752, 1_044
"""Stories of these kinds: messages are lost; jobs name limiters; tenants have quotas."""


@dataclass(frozen=True)
class Meeting:
    """The acts before, in seconds after the start; the actor that is stopped, when and how long; and others' acts.

    With `stop_seconds` None the first actor never goes on. With `fails` it is not stopped: a call of its fails. Workers
    start as soon as the others are done, or, if `late`, after the first is done too. `kind` is the number of a story
    with the features that the meeting needs, such as limiters.
    """

    before: Sequence[tuple[float, Verb]]
    first: tuple[float, Verb]
    meanwhile: Sequence[Verb]
    stop_seconds: int | None = 4
    late: bool = False
    call_seconds: int = 3
    fails: bool = False
    kind: int = 0

    def complaints(self) -> Iterator[str]:
        """Yield the faults of all its endings: without a stop, then with one near the beginning or the end."""
        moments, story = self._play(-1)
        yield from (f"{complaint} (nobody stopped)" for complaint in complaints(story))
        for moment in sorted(range(moments), key=lambda one: min(one, moments - 1 - one)):
            _, story = self._play(moment)
            yield from (f"{complaint} (the first stopped at its moment {moment})" for complaint in complaints(story))

    def play(self) -> Story:
        """Play the meeting, and stop nobody."""
        return self._play(-1)[1]

    def _play(self, moment: int) -> tuple[int, Story]:
        """Play the meeting. The first actor stops at a moment. Return how many moments it has, and the story."""
        story = Story(_LOSSY if purges in self.meanwhile else self.kind)
        story.calm_down()
        story.receiver.takes_ms = (self.call_seconds * SECOND_MS,)
        moments = story.clock.run(self._told(story, moment))
        return moments, story

    async def _told(self, story: Story, moment: int) -> int:
        for seconds, verb in self.before:
            await story.clock.sleep_until(START + int(seconds * SECOND_MS))
            await verb(story, process_of(story, verb))
        await story.clock.sleep_until(START + int(self.first[0] * SECOND_MS))
        first = process_of(story, self.first[1])
        seconds = _LONGEST_SECONDS if self.stop_seconds is None else self.stop_seconds
        first.stop = Stop(moment, seconds * SECOND_MS, self.fails)
        tasks = [asyncio.create_task(_to_its_end(self.first[1](story, first)))]
        await story.clock.sleep_until(story.clock.now() + _MEANWHILE_MS)
        for verb in self.meanwhile:
            await _to_its_end(verb(story, process_of(story, verb)))
        if self.late:
            await tasks[0]
        workers = [scan_each_second(story, 1), execute_messages(story, 1), judge_dead_letters(story)]
        workers += [watch_over_runs(story)] if story.is_lossy else []
        tasks += [asyncio.create_task(worker) for worker in workers]
        await _rest(story)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return first.moments


async def _to_its_end(work: Awaitable[object]) -> None:
    with suppress(ValueError, CutOffError, UnavailableError):
        await work


async def _rest(story: Story) -> None:
    story.storm_ends_at = story.clock.now()
    await story.clock.sleep_until(story.clock.now() + _CALM_SECONDS * SECOND_MS)
    while is_going_on(story) and story.clock.now() < START + _LONGEST_SECONDS * SECOND_MS:
        await story.clock.sleep_until(story.clock.now() + SECOND_MS)


_OFTEN, _SELDOM, _ONCE, _LATER = Every(2, START), Every(60, START), At(START + 5_000), At(START + 8_000)

_dispatched = ((0, submits(_OFTEN)), (2, scans))

_paused = (*_dispatched, (4, pauses))

_due_once = ((0, submits(_ONCE)), (1, scans))

MEETINGS = {
    "an operation that takes long, while a run that it retries fails again": Meeting(
        [(0, fails), *_due_once, (5, executes)], (8, retries_all), [], stop_seconds=20, call_seconds=0
    ),
    "the failure of a parent of two jobs that have swapped which one waits for the other": Meeting(
        [(0, fails), (0, weaves), (1, swaps_a_dependency), (2, scans)], (5, executes), [], call_seconds=0
    ),
    "a pause, and a resume": Meeting(_dispatched, (3, pauses), [resumes]),
    "a pause, and another schedule": Meeting(_dispatched, (3, pauses), [revises(Every(3, START))]),
    "a pause, and a cancel": Meeting(_dispatched, (3, pauses), [cancels]),
    "a resume, and a pause": Meeting(_paused, (5, resumes), [pauses]),
    "a resume, and a cancel": Meeting(_paused, (5, resumes), [cancels]),
    "a resume that breaks off": Meeting(_paused, (5, resumes), [], stop_seconds=None),
    "another schedule that breaks off": Meeting(_dispatched, (3, revises(Every(3, START))), [], stop_seconds=None),
    "another schedule, and a third": Meeting(_dispatched, (3, revises(Every(3, START))), [revises(Every(5, START))]),
    "another schedule, and a cancel": Meeting(_dispatched, (3, revises(Every(3, START))), [cancels]),
    "a scan, and a pause": Meeting(_dispatched, (4, scans), [pauses]),
    "a scan, and a pause and a resume": Meeting(_dispatched, (4, scans), [pauses, resumes]),
    "a scan that breaks off among the jobs of many": Meeting(
        [(0, crowds)], (5, scans), [], stop_seconds=None, call_seconds=0
    ),
    "a scan with chunks in flight that breaks off": Meeting(
        [(0, small_crowds)], (5, scans_in_small_chunks), [], stop_seconds=None, call_seconds=0
    ),
    "a scan, and a cancel": Meeting(_dispatched, (4, scans), [cancels]),
    "a scan, and another schedule": Meeting(_dispatched, (4, scans), [revises(Every(3, START))]),
    "a scan, and a schedule with the same next fire": Meeting(
        [(0.5, submits(_SELDOM))], (57.5, scans), [revises(Every(2, START))]
    ),
    "a scan, and a schedule with the same next fire that breaks off": Meeting(
        [(0.5, submits(_SELDOM))], (57.5, scans), [revises(Every(2, START), calls=12)], late=True
    ),
    "a cancel that takes long, and a slow plan": Meeting(
        [(0, submits(Every(20, START))), (2, scans)], (3, cancels), [plans_slowly(22, 35)], stop_seconds=20
    ),
    "a scan that breaks off after an outage": Meeting(
        [(0, submits(Every(5, START)))], (100, scans), [], stop_seconds=None
    ),
    "a resume after an outage, under another schedule": Meeting(
        [*_dispatched, (3, pauses), (3.5, revises(Every(1, START)))], (100, resumes), []
    ),
    "a schedule that comes back, and a cancel": Meeting(
        [*_dispatched, (2.5, revises(Every(3, START)))], (3, revises(_OFTEN)), [cancels]
    ),
    "another schedule that takes long, and a slow plan of a fire that both have": Meeting(
        [(0.5, submits(_SELDOM))],
        (52, revises(Every(2, START))),
        [plans_slowly(56, 200, (160, scans))],
        stop_seconds=5,
    ),
    "an execution, and a schedule whose final run it is": Meeting(
        [(0, submits(Every(5, START))), (1, scans)], (5, executes), [revises(At(START + 5_000))]
    ),
    "an execution, and a cancel": Meeting(_dispatched, (4, executes), [cancels]),
    "an execution, and a pause and a resume": Meeting(_dispatched, (4, executes), [pauses, resumes]),
    "the only execution, and a pause": Meeting(_due_once, (5, executes), [pauses]),
    "the only execution, and another instant": Meeting(_due_once, (5, executes), [revises(At(START + 20_000))]),
    "the only execution, and a cancel": Meeting(_due_once, (5, executes), [cancels]),
    "an execution of a path that fails, and one of another path": Meeting(
        [(0, calls_two_paths), (1, scans)], (4, executes), [], call_seconds=0
    ),
    "an execution that takes long to put a run in line, behind a run that is soon over": Meeting(
        [(0, submits_under_a_key), (1, scans)], (5, executes), [], stop_seconds=16, call_seconds=0
    ),
    "three executions of one instant, under a limiter with one slot": Meeting(
        [(0, submits_three(flow=ONE_AT_ONCE)), (1, scans)], (5, executes), [], kind=_LIMITED
    ),
    "three executions of one instant, under a limiter of one a second": Meeting(
        [(0, submits_three(flow=ONE_A_SECOND)), (1, scans)], (5, executes), [], call_seconds=0, kind=_LIMITED
    ),
    "three executions of a tenant that may have two at once": Meeting(
        [(0, binds_tenants), (0, submits_three("user-1")), (1, scans)], (5, executes), [], kind=_QUOTAS
    ),
    "three executions of a tenant that may have one a second": Meeting(
        [(0, binds_tenants), (0, submits_three("user-2")), (1, scans)], (5, executes), [], call_seconds=0, kind=_QUOTAS
    ),
    "an execution that sleeps longer than its lease, while others wait for its slot": Meeting(
        [(0, submits_three(flow=ONE_AT_ONCE)), (1, scans)], (5, executes), [], stop_seconds=45, kind=_LIMITED
    ),
    "an execution of a run that was sent before a freeze": Meeting(
        [(0, submits(_LATER)), (4, scans), (4.2, freezes)], (7.5, executes), []
    ),
    "an execution of a run that was sent before its calendar was closed": Meeting(
        [(0, submits_with_a_calendar), (4, scans), (4.2, closes_the_day)], (7.5, executes), []
    ),
    "a submission of which a call fails": Meeting([], (0, asks_for_a_job), [], fails=True),
    "a trigger of which a call fails": Meeting([(0, submits(Every(3600, START)))], (2, triggers), [], fails=True),
    "a trigger of which a call fails, between two others that are collected": Meeting(
        [(0, submits_one_that_collects), (1, pushes("push-1"))],
        (2, pushes("push-2")),
        [pushes("push-2"), pushes("push-3")],
        fails=True,
    ),
    "a submission of which a call fails, between two others under its key": Meeting(
        [(1, submits_under_a_unique_key("first"))],
        (2, submits_under_a_unique_key("second")),
        [submits_under_a_unique_key("third")],
        fails=True,
    ),
    "an execution that sleeps longer than its lease": Meeting(_due_once, (5, executes), [], stop_seconds=45),
    "an execution that wakes while another one has its run": Meeting(
        _due_once, (5, executes), [], stop_seconds=36, call_seconds=10
    ),
    "an execution that wakes when another has called its run": Meeting(
        _due_once, (5, executes), [], stop_seconds=38, call_seconds=10
    ),
    "a claim by an executor that dies, of a run whose message is given up": Meeting(
        _due_once, (5, claims), [gives_up], stop_seconds=10
    ),
    "a scan that breaks off, and a purge": Meeting([(0, submits(_ONCE))], (1, scans), [purges], stop_seconds=None),
    "a submission that breaks off, and a purge": Meeting(
        [], (0, submits(At(START))), [purges], stop_seconds=None, call_seconds=0
    ),
    "an execution that breaks off, and a cancel of its run": Meeting(
        _due_once, (5, executes), [cancels_its_run], stop_seconds=None
    ),
    "an execution that breaks off, and a purge": Meeting(
        _due_once, (5, executes), [purges], stop_seconds=None, call_seconds=0
    ),
    "an execution that breaks off, and the run that waits for its lock": Meeting(
        [(0, submits(Every(5, START), OverlapPolicy.QUEUE_ONE)), (1, scans)],
        (5, executes),
        [],
        stop_seconds=None,
        call_seconds=12,
    ),
}
