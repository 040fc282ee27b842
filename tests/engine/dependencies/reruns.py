"""Operations that run the cycle of a graph again."""

from tests.engine.dependencies.graphs import BEGIN, Graph
from timeball.domain.model.ids import OperationKey
from timeball.domain.operation import JobMatch, Operation, OperationAction, Rerun, RerunMode


def rerun_of(graph: Graph, *names: str, mode: RerunMode = RerunMode.ALL) -> Operation:
    now = graph.play.clock.now()
    return Operation(
        key=OperationKey("acme", "again"),
        action=OperationAction.RERUN,
        match=JobMatch(),
        per_second=2,
        shard=0,
        created_at=now,
        updated_at=now,
        due_at=now,
        rerun=Rerun("a", BEGIN, mode),
        batch=names,
        is_begun=True,
        matched=len(names),
    )


def standing(graph: Graph) -> Operation:
    (operation,) = graph.play.store.operations.read([OperationKey("acme", "again")])
    assert operation is not None
    return operation
