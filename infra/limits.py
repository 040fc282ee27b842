"""The tables of docs/reference/aws.md: the resources of each function and each queue, read from the templates.

A cell shows the stage `small`, and in brackets `large` where it differs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from aws_cdk import App

from infra.concurrency import BATCHES_OF_A_POLLER
from infra.settings import PREFIX, Settings
from infra.stack import TimeballStack
from infra.why import WHY
from timeball.aws.dynamodb.table import schema

_STAGES = ("small", "large")
_DAY_SECONDS = 24 * 60 * 60

_Resource = Mapping[str, Any]


@dataclass(frozen=True)
class _Template:
    """A synthesized template."""

    template: Mapping[str, Any]
    name: str

    def of(self, kind: str) -> dict[str, _Resource]:
        """Return the resources of a kind by their logical ids."""
        return {key: body for key, body in self.template["Resources"].items() if body["Type"] == kind}

    def feeds(self) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """Yield the ids of each queue and the function that it feeds, and the mapping between them."""
        for body in self.of("AWS::Lambda::EventSourceMapping").values():
            mapping = body["Properties"]
            yield mapping["EventSourceArn"]["Fn::GetAtt"][0], mapping["FunctionName"]["Ref"], mapping

    def function_rows(self) -> dict[str, list[str]]:
        """Return the cells of each function by its name."""
        queues = self.of("AWS::SQS::Queue")
        fed = {function: (queues[queue]["Properties"], mapping) for queue, function, mapping in self.feeds()}
        rows = {}
        for key, body in self.of("AWS::Lambda::Function").items():
            about = body["Properties"]
            queue, mapping = fed.get(key, ({}, {}))
            shares = about.get("ReservedConcurrentExecutions", "shared")
            rows[about["FunctionName"].removeprefix(f"{self.name}-")] = [
                f"{about['MemorySize']} MB",
                f"{about['Timeout']} s",
                str(_most_at_once(mapping) if mapping else shares),
                _deliveries(queue) if mapping else "once",
                "allowed" if about.get("RecursiveLoop") == "Allow" else "stopped",
                body["Metadata"][WHY],
            ]
        return rows

    def queue_rows(self) -> dict[str, list[str]]:
        """Return the cells of each queue by the output that names it."""
        outputs = {output["Value"].get("Ref"): name for name, output in self._outputs()}
        functions = self.of("AWS::Lambda::Function")
        rows = {}
        for key, body in self.of("AWS::SQS::Queue").items():
            about = body["Properties"]
            fed = [
                (functions[function]["Properties"]["FunctionName"].removeprefix(f"{self.name}-"), mapping)
                for queue, function, mapping in self.feeds()
                if queue == key
            ]
            rows[outputs[key]] = [
                ", ".join(f"`{name}`, {mapping['BatchSize']} messages" for name, mapping in fed) or "no function",
                f"{about['VisibilityTimeout']} s",
                _deliveries(about) if fed else "",
                f"{about['MessageRetentionPeriod'] // _DAY_SECONDS} days",
                body["Metadata"][WHY],
            ]
        return rows

    def _outputs(self) -> Iterator[tuple[str, Any]]:
        for name, output in self.template["Outputs"].items():
            if isinstance(output["Value"], Mapping):
                yield name, output


def _most_at_once(mapping: Mapping[str, Any]) -> int:
    pollers = mapping.get("ProvisionedPollerConfig")
    return int(
        pollers["MaximumPollers"] * BATCHES_OF_A_POLLER if pollers else mapping["ScalingConfig"]["MaximumConcurrency"]
    )


def _deliveries(queue: Mapping[str, Any]) -> str:
    redrive = queue.get("RedrivePolicy")
    return f"{redrive['maxReceiveCount']} times" if redrive else "until it succeeds"


@cache
def _templates() -> list[_Template]:
    found = []
    for stage in _STAGES:
        settings = Settings.read({f"{PREFIX}stage": stage})
        app = App(context={"aws:cdk:bundling-stacks": []})
        TimeballStack(app, settings)
        found.append(_Template(app.synth().get_stack_by_name(settings.name).template, settings.name))
    return found


def functions_as_markdown() -> str:
    """Render the resources of each function, one a row."""
    small, large = (template.function_rows() for template in _templates())
    return _table(("function", "memory", "timeout", "at once", "tries", "recursion", "why"), small, large)


def queues_as_markdown() -> str:
    """Render the properties of each queue, one a row."""
    small, large = (template.queue_rows() for template in _templates())
    return _table(("queue (output)", "feeds", "hides for", "delivers", "keeps for", "why"), small, large)


def tables_as_markdown() -> str:
    """Render the keys of each table and of its indexes, and the attribute with its time to live."""
    lines = ["| table | index | partition key | sort key | projection | time to live |", "|---|---|---|---|---|---|"]
    for table in schema.TABLES:
        ttl = f"`{table.ttl}`" if table.ttl else ""
        lines.append(f"| {table.name} | | {_keys(table)} | all | {ttl} |")
        lines += [
            f"| {table.name} | `{index.name}` | {_keys(index)} | {_projected(index)} | |" for index in table.indexes
        ]
    return "\n".join(lines)


def _projected(index: schema.Index) -> str:
    return "all" if index.whole_rows else "keys only"


def _keys(of: schema.TableSchema | schema.Index) -> str:
    return " | ".join(f"`{key.name}` ({key.type})" for key in (of.partition, of.sort))


def _table(heads: tuple[str, ...], small: Mapping[str, list[str]], large: Mapping[str, list[str]]) -> str:
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, cells in small.items():
        both = [one if one == other else f"{one} ({other})" for one, other in zip(cells, large[name], strict=True)]
        lines.append(f"| `{name}` | {' | '.join(both)} |")
    return "\n".join(lines)
