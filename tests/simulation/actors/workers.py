"""The processes of a deployment besides executors: scanners, a reconciler, a watcher; and all processes' mishaps."""

import asyncio

from tests.simulation.story import Story
from tests.simulation.world.process import Process
from tests.simulation.world.receiver import HOSTS
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.runs.watch import recheck, reconcile_messages
from timeball.engine.scanning.buckets import Sweeps
from timeball.engine.scanning.scan import scan
from timeball.ports.due_index import Owner
from timeball.ports.errors import UnavailableError

_WATCHES_AT_ONCE = 10

_UNUSED_MS = 45 * SECOND_MS
"""After how long an unused row expires: longer than a request lives, and much shorter than in a deployment."""

_MISHAPS = ("kill", "freeze", "freeze", "freeze user", "host down", "no scanners", "no executors")


async def scan_each_second(story: Story, number: int) -> None:
    """Tick, in one execution after another. Each has as many loops as there are partitions when it begins."""
    scanners = [story.new_process(f"scanner-{number}.{partition}") for partition in range(story.rules.shards)]
    sweeps = [Sweeps() for _ in scanners]
    story.scanners += scanners
    while True:
        owner = Owner(f"{next(story.names):06}", f"ticker-{number}")
        until, partitions = story.clock.now() + 20_000 + 20_000 * number, story.partitions
        loops = [
            _loop(story, scanners[partition], until, (partition, owner, sweeps[partition], partitions))
            for partition in range(partitions)
        ]
        await asyncio.gather(*loops)


async def _loop(story: Story, process: Process, until: int, asked: tuple[int, Owner, Sweeps, int]) -> None:
    """Scan a partition as the ticker does, until the time is up or a newer loop owns the partition."""
    context, chunk = story.context(process), story.hardships.chunk
    while story.clock.now() < until:
        began_at = process.now()
        try:
            found = await process.run(scan, context, *asked, chunk)
        except UnavailableError:
            found = None
        if found is not None:
            story.note_scan(context, found, began_at, (asked[0], asked[3]))
        if found is not None and found.superseded:
            again_at = story.clock.now() + 5 * SECOND_MS
            await story.clock.sleep_until(min(again_at, until) if story.hardships.has_standby else until)
        elif found is None or not found.backlog:
            seconds = 3 if found is not None and found.idle else 1
            await process.sleep_until(process.now() // SECOND_MS * SECOND_MS + seconds * SECOND_MS)


async def judge_dead_letters(story: Story) -> None:
    """Reconcile the messages that the queue gave up on."""
    process = story.new_process("reconciler")
    context = story.context(process)
    while True:
        await process.sleep_until(process.now() + 5 * SECOND_MS)
        dead = list(story.queue.dead)
        if not dead:
            continue
        process.trace(f"{process.name} judges {', '.join(map(str, dead))}")
        try:
            may_go = await process.run(reconcile_messages, context, dead)
        except UnavailableError:
            may_go = [False] * len(dead)
        for run, gone in zip(dead, may_go, strict=True):
            if gone and run in story.queue.dead:
                story.queue.dead.remove(run)


async def repartition(story: Story) -> None:
    """Change the number of partitions in the middle of some stories."""
    if story.repartition_at is not None:
        await story.clock.sleep_until(story.repartition_at)
        story.repartition()


async def watch_over_runs(story: Story) -> None:
    """Check runs that were sent. A watch that could not be processed comes again.

    After a whole batch was processed there may be more watches. The next batch follows at once, because the queue feeds
    as many as it has.
    """
    process = story.new_process("watcher")
    context = story.context(process)
    while True:
        await process.sleep_until(process.now() + 3 * SECOND_MS)
        are_more = True
        while are_more and (watches := story.queue.due_watches()[:_WATCHES_AT_ONCE]):
            process.trace(f"{process.name} looks at {', '.join(str(run) for watch in watches for run in watch.runs)}")
            gone = await process.run(recheck, context, watches)
            for watch, is_gone in zip(watches, gone, strict=True):
                if is_gone and watch in story.queue.watches:
                    story.queue.drop_watch(watch)
            are_more = len(watches) == _WATCHES_AT_ONCE and all(gone)


async def befall(story: Story) -> None:
    """Cause one mishap after another during the storm."""
    random, clock = story.random, story.clock
    while clock.now() < story.storm_ends_at:
        await clock.sleep_until(clock.now() + story.slowness * random.randrange(5_000, 60_000))
        if clock.now() < story.storm_ends_at:
            _happen(story, random.choice((*_MISHAPS, "purge") if story.is_lossy else _MISHAPS))


def _happen(story: Story, mishap: str) -> None:
    """Freeze or kill processes, one alone or all of a kind; take a host down; lose all messages."""
    random, clock = story.random, story.clock
    executors = list(story.executors.values())
    match mishap:
        case "kill":
            random.choice(executors).kill()
        case "purge":
            story.trace("all queues of messages are purged")
            story.queue.purge()
        case "freeze":
            longest = random.choice((10_000, 60_000, 90_000))
            random.choice([*story.scanners, *executors]).freeze(random.randrange(1_000, longest))
        case "freeze user":
            random.choice(story.users).freeze(random.randrange(1_000, 30_000))
        case "host down":
            host, down_ms = random.choice(HOSTS), random.randrange(20_000, 90_000)
            story.receiver.down_until[host] = max(story.receiver.down_until.get(host, 0), clock.now() + down_ms)
        case "no scanners":
            for process in story.scanners:
                process.freeze(random.randrange(20_000, 120_000))
        case _:
            for process in executors:
                process.freeze(random.randrange(20_000, 120_000))


async def heat_up(story: Story) -> None:
    """Make one row after the other hot for a while, during the storm: mostly rows with many writers."""
    draw, store = story.heat.draw, story.store
    while story.clock.now() < story.storm_ends_at:
        kinds = [rows for rows in (store.limiters, store.limiters, store.jobs, store.jobs, store.runs) if rows]
        story.heat.hot = draw.choice(sorted(draw.choice(kinds))) if kinds else None
        story.trace(f"{story.heat.hot} is hot")
        await story.clock.sleep_until(story.clock.now() + draw.randrange(2_000, 20_000))
    story.heat.hot = None


async def expire(story: Story) -> None:
    """Delete rows that have not been written for a while and for which nothing waits, as a time to live does."""
    store = story.store
    while story.clock.now() < story.storm_ends_at:
        await story.clock.sleep_until(story.clock.now() + 10 * SECOND_MS)
        now = story.clock.now()
        for key, noted in store.history.limiters.items():
            row = store.limiters.get(key)
            is_used = row is None or row.begun or row.due_at is not None or row.lines or row.fixed.version > 1
            if not is_used and noted[-1][0] < now - _UNUSED_MS:
                store.limiters.pop(key)
        for unique, named in [*store.uniques.items()]:
            if named.until is not None and named.until < now - _UNUSED_MS:
                store.uniques.pop(unique)
