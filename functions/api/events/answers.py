"""What the API answers about events that were sent."""

from pydantic import Field

from functions.api.http.problem_details import ItemProblem
from functions.api.http.reply import Answer, Time


class EventAnswer(Answer):
    """An event that is on the bus."""

    event_id: str = Field(description="Its `id`, as it was given or made.")
    source: str
    type: str
    accepted_at: Time = Field(description="When it was first taken in: the fire time of its runs.")


class EventItemAnswer(Answer):
    """What became of one event of many: it is on the bus (202), or there is a problem and its status."""

    index: int = Field(description="The place of the event in the request, from 0.")
    status: int
    event: EventAnswer | None = Field(default=None, description="Only where it is on the bus.")
    problem: ItemProblem | None = Field(default=None, description="Only where it is not.")


class EventsAnswer(Answer):
    """A result for each event, in the order of the request."""

    items: list[EventItemAnswer]
