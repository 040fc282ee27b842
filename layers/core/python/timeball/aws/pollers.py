"""Pollers over Lambda: the event source mappings of the executors' queues, in provisioned mode."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from timeball.aws.patience import BRISKLY, Asker
from timeball.domain.sharing.pollers import PollerBounds, Provisioned

if TYPE_CHECKING:
    from types_boto3_lambda import LambdaClient


@dataclass(frozen=True)
class MappingPollers:
    """The pollers of some mappings, by priority. The client is made when needed."""

    client: Callable[[], "LambdaClient"]
    mappings: Mapping[str, Provisioned]
    asker: Asker = BRISKLY

    @property
    def bounds(self) -> Mapping[str, PollerBounds]:
        """Return the minimum and the maximum of ready pollers, by priority."""
        return {priority: one.bounds for priority, one in self.mappings.items()}

    def ready(self) -> Mapping[str, int]:
        """Return the minimum of each mapping. Raises UnavailableError."""
        return {priority: self._least(one.mapping) for priority, one in self.mappings.items()}

    def make_ready(self, priority: str, pollers: int) -> None:
        """Set the minimum of a mapping, and keep its maximum.

        A mapping that is being changed refuses it. Raises UnavailableError, and the error of a permanent refusal.
        """
        uuid, most = self.mappings[priority].mapping, self.mappings[priority].most
        config = {"MinimumPollers": pollers, "MaximumPollers": most}
        self.asker.ask_once(
            lambda: self.client().update_event_source_mapping(UUID=uuid, ProvisionedPollerConfig=config)  # type: ignore[arg-type]
        )

    def _least(self, uuid: str) -> int:
        answer = self.asker.ask(lambda: self.client().get_event_source_mapping(UUID=uuid))
        return answer["ProvisionedPollerConfig"]["MinimumPollers"]
