"""Lambda's handling of a batch's messages when an executor returns: it removes the messages that are done."""

from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any

from timeball.engine.execution.offload import Offload
from timeball.ports.errors import UnavailableError
from timeball.ports.queue import Delivery, Inbox, one_of_each_message


async def handed_out(
    inbox: Inbox,
    deliveries: Sequence[Delivery],
    work: Coroutine[Any, Any, list[Delivery]],
    offload: Offload | None = None,
) -> list[Delivery]:
    """Let an executor process deliveries; remove the messages of those that it does not return. Return the others."""
    returned = await work
    kept = {one.receipt for one in returned}
    done = one_of_each_message(one for one in deliveries if one.receipt not in kept)
    with suppress(UnavailableError):  # they come again
        if done and offload is not None:
            await offload(inbox.delete, done)
        elif done:
            inbox.delete(done)
    return returned
