"""The emulator's state is saved when a deployment is finished, then at each turn, and never in the middle of one."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from timeball.dev.inside.saving import StateSaver


class Services:
    """The emulator's module, with the states of its services and what was written of them."""

    def __init__(self) -> None:
        self.states: dict[str, Any] = {
            "dynamodb": {"tables": {"jobs": 1}},
            "lambda": {"layers": "megabytes"},
            "stepfunctions": {"state_machines": ["ticker"], "executions": ["past"], "map_runs": []},
        }
        self.written: list[tuple[str, Any]] = []
        self.disturbed = 0

    def app(self) -> SimpleNamespace:
        parts = {name: lambda name=name: self._read(name) for name in self.states}
        return SimpleNamespace(_build_persistence_save_dict=lambda: parts, save_state=self._write)

    def _read(self, name: str) -> Any:
        if self.disturbed:
            self.disturbed -= 1
            raise RuntimeError("dictionary changed size during iteration")
        return self.states[name]

    def _write(self, name: str, state: Any) -> None:
        self.written.append((name, state))


def test_nothing_is_saved_before_the_deployment_is_finished(tmp_path: Path) -> None:
    services = Services()
    state = StateSaver(services.app(), services._write, tmp_path / "deployed")
    asyncio.run(state.save())
    assert (services.written, state.to_save_at_the_end()) == ([], {})
    (tmp_path / "deployed").touch()
    asyncio.run(state.save())
    assert dict(services.written)["dynamodb"] == {"tables": {"jobs": 1}}
    assert {*state.to_save_at_the_end()} == {"dynamodb", "lambda", "stepfunctions"}


def test_functions_are_saved_once_and_executions_never(tmp_path: Path) -> None:
    services = Services()
    (tmp_path / "deployed").touch()
    state = StateSaver(services.app(), services._write, tmp_path / "deployed")
    asyncio.run(state.save())
    asyncio.run(state.save())
    assert [name for name, _ in services.written] == [
        "dynamodb",
        "lambda",
        "stepfunctions",
        "dynamodb",
        "stepfunctions",
    ]
    assert dict(services.written)["stepfunctions"] == {"state_machines": ["ticker"]}
    assert state.to_save_at_the_end()["lambda"]() == {"layers": "megabytes"}


def test_a_state_that_changes_while_it_is_copied_is_copied_again(tmp_path: Path) -> None:
    services = Services()
    (tmp_path / "deployed").touch()
    services.disturbed = 2
    asyncio.run(StateSaver(services.app(), services._write, tmp_path / "deployed").save())
    assert len(services.written) == 3
    services.disturbed = 5
    asyncio.run(StateSaver(services.app(), services._write, tmp_path / "deployed").save())
    assert [name for name, _ in services.written[3:]] == ["lambda", "stepfunctions"]


def test_nothing_is_saved_before_the_saved_state_is_restored(tmp_path: Path) -> None:
    services = Services()
    (tmp_path / "deployed").touch()
    state = StateSaver(services.app(), services._write, tmp_path / "deployed")
    before: list[tuple[str, Any]] = []

    async def restoring(_scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        before.extend(services.written)
        await send({"type": "lifespan.startup.complete"})
        await receive()

    async def receive() -> Any:
        while len(services.written) < 3:
            await asyncio.sleep(0)

    async def send(_message: Any) -> None:
        pass

    asyncio.run(state.saved_each(60, restoring)({"type": "lifespan"}, receive, send))
    assert before == []
    assert len(services.written) == 3
