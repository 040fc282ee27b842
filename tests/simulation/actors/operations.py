"""Users who request bulk operations on other users' jobs during the story, and cancel some of them."""

from tests.simulation.actors.client import Client
from tests.simulation.story import Story
from timeball.domain.model.ids import JobKey, OperationKey
from timeball.domain.model.tenants.actor import Actor
from timeball.domain.operation import JobMatch, Operation, OperationAction
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.context import Context
from timeball.engine.operations.operation import cancel_operation, create_operation

_ACTIONS = (
    *(OperationAction.PAUSE, OperationAction.RESUME) * 6,
    *(OperationAction.TRIGGER, OperationAction.RETRY) * 4,
    OperationAction.CANCEL,
)
_CANCELLED = 0.1


async def operate(story: Story) -> None:
    """Request one operation after the other during the storm."""
    draw, client = story.operation_draw, Client(story, story.new_process("user-operator"))
    while story.clock.now() < story.storm_ends_at:
        await client.process.sleep_until(client.process.now() + draw.randrange(1_000, 12_000))
        asked = _asked(story, client.process.now())
        await _request(client, "operation", asked, create_operation)
        if draw.random() < _CANCELLED:
            await client.process.sleep_until(client.process.now() + draw.randrange(1, 5 * SECOND_MS))
            await _request(client, "cancel operation", asked, _cancel)


async def _request(client: Client, verb: str, asked: Operation, work: object) -> None:
    await client.request(verb, JobKey(asked.key.tenant, asked.key.name), work, asked)  # type: ignore[arg-type]


def _asked(story: Story, now: int) -> Operation:
    draw, name = story.operation_draw, f"op{next(story.names)}"
    action = draw.choice(_ACTIONS)
    matches = {
        OperationAction.PAUSE: (JobMatch(), JobMatch(status="pending")),
        OperationAction.RESUME: (JobMatch(), JobMatch(status="paused")),
        OperationAction.RETRY: (JobMatch(), JobMatch(status="failed")),
    }
    return Operation(
        OperationKey(draw.choice(("user-1", "user-2")), name),
        action,
        draw.choice(matches.get(action, (JobMatch(), JobMatch(status="pending")))),
        per_second=draw.choice((1, 2, 100)),
        shard=draw.randrange(story.rules.shards),
        created_at=now,
        updated_at=now,
        by=Actor(f"operator-{name}"),
        due_at=now,
    )


def _cancel(context: Context, asked: Operation) -> Operation | None:
    """Cancel an operation, if it was stored."""
    (standing,) = context.store.operations.read([asked.key])
    return None if standing is None else cancel_operation(context, standing)
