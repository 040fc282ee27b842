"""The models of answers about sent events."""

from pydantic import Field

from timeball.api.http.exchange import AnswerModel, Time
from timeball.api.http.problems import ItemProblem


class EventAnswer(AnswerModel):
    """An event that is on the bus."""

    event_id: str = Field(description="The event's `id`, given or generated.")
    source: str = Field(description="The event's `source`.")
    type: str = Field(description="The event's `type`.")
    accepted_at: Time = Field(description="When it was first accepted: the fire time of its runs.")


class EventItemAnswer(AnswerModel):
    """The result of one event of many: the event, or a problem."""

    index: int = Field(description="The index of the event in the request, from 0.")
    status: int = Field(description="202 for an event on the bus, or the status of the problem.")
    event: EventAnswer | None = Field(default=None, description="The event, if it is on the bus.")
    problem: ItemProblem | None = Field(default=None, description="The problem, if the event is not on the bus.")


class EventsAnswer(AnswerModel):
    """The results of many events."""

    items: list[EventItemAnswer] = Field(description="A result for each event, in the order of the request.")
