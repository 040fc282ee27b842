"""One seed's story: two scanners, three executors, users, bad weather; then a calm until all is over."""

import asyncio
from collections.abc import Callable

from tests.simulation.actors.cadences import judge_by_latest
from tests.simulation.actors.event_graphs import grow_below_events
from tests.simulation.actors.events import receive_events, send_events
from tests.simulation.actors.executions import tell_of_ends
from tests.simulation.actors.executors import execute_messages
from tests.simulation.actors.flow import come_again
from tests.simulation.actors.generations import put_again
from tests.simulation.actors.graphs import weave
from tests.simulation.actors.listings import list_tenants_runs
from tests.simulation.actors.losses import lose_and_recover
from tests.simulation.actors.operations import operate
from tests.simulation.actors.pipelines import run_pipelines
from tests.simulation.actors.quotas import (
    are_lines_left,
    bind,
    bind_making,
    change_limits,
    lift,
    lift_making,
    makes_few,
    settle,
)
from tests.simulation.actors.removals import remove_nodes
from tests.simulation.actors.reruns import run_again
from tests.simulation.actors.targets import report_later
from tests.simulation.actors.tasks import keep_tasks
from tests.simulation.actors.users import act, give_up
from tests.simulation.actors.workers import (
    befall,
    expire,
    heat_up,
    judge_dead_letters,
    repartition,
    scan_each_second,
    watch_over_runs,
)
from tests.simulation.idle_slots import IdleSlots, IdleTurns
from tests.simulation.story import Story
from tests.simulation.unfinished import is_going_on, unfinished
from tests.simulation.world.store import LONGEST_LAG_MS
from timeball.domain.model.reason import Reason
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS

CALM_MS = 10 * MINUTE_MS
"""How long after the storm a story may take to end."""

_CALM_OF_TURNS_MS = 60 * MINUTE_MS
"""The same limit if runs wait for a host that has failed: one run has hundreds of items, which take turns."""

_TURNS = (Reason.HOST_PACED, Reason.CIRCUIT_OPEN)


def play(seed: int, trace: Callable[[str], None] = lambda _: None, kind: type[Story] = Story) -> Story:
    """Play a story to its end, and return it with everything that a checker needs."""
    story = kind(seed, trace)
    story.clock.run(play_out(story))
    return story


async def play_out(story: Story) -> None:
    """Play a story to its end."""
    if story.has_quotas:
        bind(story)
    if makes_few(story):
        bind_making(story)
    actors = [scan_each_second(story, 1), scan_each_second(story, 2)]
    actors += [execute_messages(story, number) for number in range(1, 1 + story.executors_at_work)]
    actors += [judge_dead_letters(story), report_later(story)]
    actors += [*([] if story.is_calm else [befall(story)]), repartition(story)]
    actors += [watch_over_runs(story)] if story.is_lossy or story.is_calm else []
    actors += [expire(story)] if story.hardships.has_expiries else []
    actors += [heat_up(story)] if story.hardships.has_hot_rows and not story.is_calm else []
    changes_limits = story.hardships.has_changed_limits and (story.has_keys or story.has_quotas)
    actors += [change_limits(story)] if changes_limits else []
    actors += [keep_tasks(story)] if story.has_tasks else []
    actors += [operate(story)] if story.has_operations else []
    actors += [weave(story, number) for number in (1, 2)] if story.has_graphs else []
    actors += [put_again(story)] if story.has_generations else []
    actors += [list_tenants_runs(story)] if story.has_listings else []
    actors += [remove_nodes(story)] if story.has_removals else []
    actors += [run_again(story)] if story.has_reruns else []
    actors += [run_pipelines(story)] if story.has_pipelines else []
    actors += [judge_by_latest(story)] if story.has_cadences else []
    actors += [send_events(story), *(receive_events(story, number) for number in (1, 2))] if story.has_events else []
    actors += [grow_below_events(story)] if story.has_event_graphs else []
    actors += [tell_of_ends(story)] if story.has_executions else []
    actors += [come_again(story, number) for number in (1, 2)] if story.has_flows else []
    actors += [lose_and_recover(story)] if story.has_losses else []
    tasks = [asyncio.create_task(actor) for actor in actors]
    await asyncio.gather(act(story, 1), act(story, 2))
    await story.clock.sleep_until(story.storm_ends_at)
    while story.is_mending:
        await story.clock.sleep_until(story.clock.now() + SECOND_MS)
    story.calm_down()
    if makes_few(story):
        lift_making(story)
    if changes_limits:
        settle(story)
    if story.is_long:
        await give_up(story)
    await _until_over(story, tasks)
    tasks += story.begun
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _until_over(story: Story, tasks: list["asyncio.Task[None]"]) -> None:
    """Wait until every run that was due a little after the storm, or before, is over.

    Recurring jobs may ask for more than their limits allow. Then lines are long at the end of the calm, and runs of low
    priority may wait for ever. So the limits are lifted, and no run has a reason to wait longer. Until then other
    checks show that lines are served in order, and that each free slot and token is given.
    """
    clock = story.clock
    awake_at = max(process.frozen_until for process in story.scanners)
    await clock.sleep_until(max(story.ends_at, awake_at + LONGEST_LAG_MS + SECOND_MS))
    until, latest = clock.now() + CALM_MS, clock.now() + _CALM_OF_TURNS_MS
    idle_slots, idle_turns = IdleSlots(found=story.idle_slots), IdleTurns(found=story.idle_turns)
    is_lifted = False
    while is_going_on(story) and clock.now() < until:
        await clock.sleep_until(clock.now() + SECOND_MS)
        idle_slots.look(story)
        idle_turns.look(story)
        if any(run.reason in _TURNS for run in unfinished(story)):
            until = min(max(until, clock.now() + MINUTE_MS), latest)
        if clock.now() >= until and not is_lifted and are_lines_left(story):
            lift(story)
            is_lifted, until = True, clock.now() + CALM_MS
        for task in (*tasks, *story.begun):
            if task.done():
                task.result()
