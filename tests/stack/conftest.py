"""The synthesized stack, once for all of its tests: for an account, and for the emulator."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from infra.app import synthesize

ROOT = Path(__file__).parents[2]


KEY_ARN = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"


@dataclass(frozen=True)
class Synthesized:
    """A template, its folder, and a few ways to query it."""

    path: Path
    template: dict[str, Any]

    def resources(self, kind: str) -> dict[str, dict[str, Any]]:
        return {name: body for name, body in self.template["Resources"].items() if body["Type"] == kind}

    def functions(self) -> dict[str, dict[str, Any]]:
        """Return the functions by their names without the stack's name."""
        named = self.resources("AWS::Lambda::Function").values()
        return {body["Properties"]["FunctionName"].removeprefix("Timeball-"): body["Properties"] for body in named}

    def resource(self, name: str) -> dict[str, Any]:
        """Return a resource by its id in the template."""
        return dict(self.template["Resources"][name])

    def resolve(self, reference: Any) -> Any:
        """Return the properties of the resource that a `Ref` or an `Fn::GetAtt` names."""
        name = reference.get("Ref") or reference["Fn::GetAtt"][0]
        return self.template["Resources"][name]["Properties"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep these tests in one worker, because synthesizing the stack takes longer than examining it."""
    here = Path(__file__).parent
    ours = {path: here in path.parents for path in {item.path for item in items}}
    for item in items:
        if ours[item.path]:
            item.add_marker(pytest.mark.xdist_group("stack"))


def synthesized(folder: Path, stage: str, **settings: object) -> Synthesized:
    """Synthesize the stack of a stage, with some settings, into a folder."""
    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    ours = {f"timeball:{name}": value for name, value in {"stage": stage, **settings}.items()}
    assembly = synthesize({**context, **ours, "aws:cdk:bundling-stacks": []}, folder)
    path = Path(assembly) / "Timeball.template.json"
    return Synthesized(path, json.loads(path.read_text()))


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """Return the stack as it is deployed to an account; it has passed cdk-nag, or the synthesis would have failed."""
    return synthesized(tmp_path_factory.mktemp("small"), "small")


@pytest.fixture(scope="session")
def local_stack(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """Return the stack as it is deployed to the emulator."""
    return synthesized(tmp_path_factory.mktemp("local"), "local")


@pytest.fixture(scope="session")
def large_stack(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """Return the stack for spikes, with concurrency reserved."""
    return synthesized(tmp_path_factory.mktemp("large"), "large", reserved_concurrency=40)


@pytest.fixture(scope="session")
def fixed_stack(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """Return the stack whose calls come from fixed addresses."""
    return synthesized(tmp_path_factory.mktemp("fixed"), "small", egress="fixed")


@pytest.fixture(scope="session")
def watched_stack(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """Return the stack with alarms, all kinds of subscribers and the dashboard; it has passed cdk-nag, too."""
    subscribers = "oncall@example.com, https://hooks.example.com/timeball, slack:T0123/C4567"
    return synthesized(tmp_path_factory.mktemp("watched"), "small", alarms="on", alarm_subscribers=subscribers)


@pytest.fixture(scope="session")
def gradual_stack(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """Return the stack whose code is replaced step by step; it has passed cdk-nag, too."""
    return synthesized(tmp_path_factory.mktemp("gradual"), "large", rollout="gradual")


@pytest.fixture(scope="session")
def keyed_stack(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """Return the stack that is encrypted with its owner's key; it has passed cdk-nag, too."""
    return synthesized(tmp_path_factory.mktemp("keyed"), "small", kms_key=KEY_ARN)


@pytest.fixture(scope="session")
def archive_stack(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """Return the stack with an archive; it has passed cdk-nag, too."""
    return synthesized(tmp_path_factory.mktemp("archive"), "small", archive="basic")


@pytest.fixture(scope="session")
def full_archive_stack(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """Return the stack with an archive of everything, for ten years, encrypted with its owner's key."""
    settings = {"archive": "full", "archive_cold_days": 90, "archive_days": 3650, "kms_key": KEY_ARN}
    return synthesized(tmp_path_factory.mktemp("full_archive"), "small", **settings)


@pytest.fixture(scope="session")
def lifecycle_stack(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """Return the stack that puts all lifecycle events onto its bus; it has passed cdk-nag, too."""
    return synthesized(tmp_path_factory.mktemp("lifecycle"), "small", lifecycle_events="*")


@pytest.fixture(scope="session")
def attached_stack(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """Return the stack over tables that exist."""
    tables = {"jobs_table": "jobs-of-may", "tenants_table": "tenants-of-may"}
    return synthesized(tmp_path_factory.mktemp("attached"), "large", **tables)
