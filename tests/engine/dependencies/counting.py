"""Count a graph's requests to its store and its queue: each call of a port, and the rows that it names."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.engine.dependencies.graphs import Graph
from timeball.engine.context import Context
from timeball.testing.faults import LIST_WRITES, Points, each_port

_READS, _WRITES = 100, 25
"""How many rows fit into a request to DynamoDB."""


class _Counted:
    """A port that counts how many requests to AWS each call of it makes, and how many rows it writes."""

    def __init__(self, port: object, requests: Counter[str], writes: Counter[str]) -> None:
        self._port, self._requests, self._writes = port, requests, writes

    def __getattr__(self, name: str) -> Callable[..., object]:
        method: Callable[..., object] = getattr(self._port, name)

        def ask(*arguments: object, **options: object) -> object:
            first = arguments[0] if arguments else None
            rows = len(first) if isinstance(first, Sequence) and not isinstance(first, str) else 1
            self._requests[name] += -(-rows // (_WRITES if name in LIST_WRITES else _READS))
            self._writes[name] += rows if name in LIST_WRITES else 0
            return method(*arguments, **options)

        return ask


def count(graph: Graph) -> tuple[Counter[str], Counter[str]]:
    """Count a graph's requests and written rows from now on, by the port's method."""
    requests, writes = Counter[str](), Counter[str]()
    plain = graph.play.context

    def context(points: Points | None = None) -> Context:
        seen = plain(points)
        store = each_port(seen.store, lambda port, _: _Counted(port, requests, writes))
        queue = each_port(seen.queue, lambda port, _: _Counted(port, requests, writes))
        return replace(seen, store=store, queue=queue)

    graph.play.context = context  # type: ignore[method-assign]
    return requests, writes
