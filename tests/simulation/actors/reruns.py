"""A user who reruns cycles of graphs."""

from random import Random

from tests.simulation.actors.client import Client
from tests.simulation.story import Story
from tests.simulation.world.receiver import WEAVERS
from timeball.domain.model.ids import CycleId, JobKey, OperationKey
from timeball.domain.model.tenants.actor import Actor
from timeball.domain.operation import Operation, Rerun, RerunMode
from timeball.engine.context import Context
from timeball.engine.dependencies.graph_views import read_cycle
from timeball.engine.operations.operation import create_operation
from timeball.engine.operations.rerun import AskedRerun, being_run, meant, rerun_operation

_AT_ONCE = 2
"""How many jobs a batch has: a cycle of a story has more."""


async def run_again(story: Story) -> None:
    """Rerun cycles, one after the other, during the storm."""
    draw, client = Random(f"the reruns of {story.seed}"), Client(story, story.new_process("user-rerunner"))
    while story.clock.now() < story.storm_ends_at:
        await client.process.sleep_until(client.process.now() + draw.randrange(5_000, 25_000))
        runs = [run_id for run_id in sorted(story.store.runs) if run_id.job.tenant == WEAVERS]
        runs = [run_id for run_id in runs if not run_id.job.job_id.startswith("notice-")]
        if runs:
            asked, mode = draw.choice(runs), draw.choice([*RerunMode])
            name = f"rerun{next(story.names)}"
            cycle = CycleId(asked.fire_at) if story.store.runs[asked].root is None else asked.cycle
            await client.request("rerun", asked.job, rerun, asked.job, cycle, mode, name)


def rerun(context: Context, asked: JobKey, of: CycleId, mode: RerunMode, name: str) -> Operation | None:
    """Request a rerun as the API does."""
    (job,) = context.store.jobs.read([asked])
    cycle = None if job is None else read_cycle(context, job, of)
    nodes = [] if cycle is None else meant(cycle, mode)
    if cycle is None or cycle.is_cut or (mode is not RerunMode.FAILED and being_run(nodes)):
        return None
    names = [node.job.key.job_id for node in nodes]
    of_cycle = Rerun(asked.job_id, of.fire_at, mode, of.origin, of.series)
    wanted = AskedRerun(OperationKey(WEAVERS, name), of_cycle)
    return create_operation(context, rerun_operation(context, wanted, names, Actor(name), _AT_ONCE))
