"""All scenes, by their names."""

from collections.abc import Mapping

from tests.simulation.scenes import events, executions, flow, graphs, runs
from tests.simulation.scenes.scene import Scene

SCENES: Mapping[str, Scene] = {
    **runs.SCENES,
    **executions.SCENES,
    **events.SCENES,
    **graphs.SCENES,
    **flow.SCENES,
}
