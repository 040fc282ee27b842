"""Operations that run the cycle of a graph again."""

from tests.engine.dependencies.graphs import BEGIN, Graph
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import OperationKey
from timeball.domain.model.tenants.actor import NO_ACTOR
from timeball.domain.operation import Operation, Rerun, RerunMode
from timeball.engine.context import Context
from timeball.engine.operations.rerun import AskedRerun, rerun_operation


def rerun_of(
    graph: Graph, *names: str, mode: RerunMode = RerunMode.ALL, at_once: int = 500, context: Context | None = None
) -> Operation:
    asked = AskedRerun(OperationKey("acme", "again"), Rerun("a", BEGIN, mode))
    made = rerun_operation(context or graph.play.context(), asked, names, NO_ACTOR, at_once)
    return evolve(made, per_second=2)


def standing(graph: Graph) -> Operation:
    (operation,) = graph.play.store.operations.read([OperationKey("acme", "again")])
    assert operation is not None
    return operation
