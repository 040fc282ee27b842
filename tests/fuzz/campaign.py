"""One campaign: Schemathesis sends valid and invalid requests of the OpenAPI document, with all of its checks on.

A campaign is drawn from its seed. Its requests name existing resources: see ids.py.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import schemathesis
from hypothesis import strategies as st
from schemathesis import Case, HookContext, Response
from schemathesis.core.failures import Failure
from schemathesis.engine import events, from_schema
from schemathesis.engine.recorder import CheckNode, ScenarioRecorder
from schemathesis.hooks import unregister_all
from schemathesis.schemas import BaseSchema

from tests.fuzz.explained import reasons
from tests.fuzz.gateway import KEY, gateway
from tests.fuzz.ids import Ids
from tests.fuzz.world import World
from timeball.api.openapi.document import document

PHASES = ("examples", "coverage", "fuzzing", "stateful")
ZONES = ("Europe/Berlin", "Australia/Lord_Howe", "UTC")
"""Names of time zones, because invented names are invalid."""
FILES = tuple(
    f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//fuzz//\n{event}END:VCALENDAR\n"
    for event in ("", "BEGIN:VEVENT\nUID:1\nDTSTART;VALUE=DATE:20261225\nRRULE:FREQ=YEARLY\nEND:VEVENT\n")
)
"""iCalendar files, for the same reason."""


@dataclass(frozen=True)
class Address:
    """The address of an API, and a key of it."""

    url: str
    key: str


@dataclass
class Campaign:
    """The results of a campaign: answers by status, complaints, and expected failures by their reasons."""

    statuses: Counter[int] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)
    explained: Counter[str] = field(default_factory=Counter)

    @property
    def requests(self) -> int:
        """Return the number of requests that were answered."""
        return self.statuses.total()

    def __iadd__(self, other: "Campaign") -> Self:
        """Add the results of another campaign."""
        self.statuses += other.statuses
        self.complaints += other.complaints
        self.explained += other.explained
        return self


def fuzz(
    seed: int,
    examples: int,
    phases: Sequence[str] = PHASES,
    to: Address | World | None = None,
    paths: str = ".",
) -> Campaign:
    """Run a campaign, with this many examples of each operation in a random phase.

    The requests go to an address, or to the API over the memory store; and to all paths, or to those that match a
    pattern.
    """
    to = to or World()
    schema = _schema(seed, examples, phases, to).include(path_regex=paths)
    campaign = Campaign()
    with _watched(campaign, to):
        for event in from_schema(schema).execute():
            match event:
                case events.ScenarioFinished():
                    campaign.complaints += _complaints(event.recorder)
                case events.NonFatalError():
                    campaign.complaints.append(f"{event.label}: {event.info.format()}")
                case events.FatalError():
                    raise event.exception
                case _:
                    pass
    return campaign


def _schema(seed: int, examples: int, phases: Sequence[str], to: Address | World) -> BaseSchema:
    url, key = (to.url, to.key) if isinstance(to, Address) else ("http://memory", KEY)
    config = schemathesis.Config.from_dict(
        {
            "seed": seed,
            "base-url": url,
            "headers": {"Authorization": f"Bearer {key}"},
            "continue-on-failure": True,
            "generation": {"max-examples": examples, "database": "none"},
            "phases": {name: {"enabled": name in phases} for name in PHASES},
        }
    )
    schemathesis.openapi.format("time-zone", st.sampled_from(ZONES))
    schemathesis.openapi.format("icalendar", st.sampled_from(FILES))
    schema = schemathesis.openapi.from_dict(document(), config=config)
    if isinstance(to, World):
        schema.app = gateway(to.api, to.go_on)
    return schema


@contextmanager
def _watched(campaign: Campaign, to: Address | World) -> Iterator[None]:
    """Count answers, lend ids, and drop explained failures, in hooks that Schemathesis calls by their names."""
    ids = Ids(document())

    def before_call(_: HookContext, case: Case[Any], kwargs: dict[str, Any]) -> None:  # noqa: ARG001 - passed by name
        ids.lend(case)
        if isinstance(to, Address):
            body = _calling(f"{to.url}/healthz", case.body)
            if body != case.body:  # setting a body validates it again, and no body would then count as bad
                case.body = body

    def after_call(_: HookContext, case: Case[Any], response: Response) -> None:
        campaign.statuses[response.status_code] += 1
        ids.learn(case, response)

    def filter_failure(_: HookContext, failure: Failure, case: Case[Any], response: Response) -> bool:
        found = reasons(failure, case, response)
        campaign.explained.update(found)
        return not found

    try:
        for hook in (before_call, after_call, filter_failure):
            schemathesis.hook(hook)
        yield
    finally:
        unregister_all()


def _calling(url: str, body: Any) -> Any:
    """Return a body whose jobs call one of our addresses instead of an invented one."""
    if isinstance(body, dict):
        return {name: _calling(url, part) for name, part in body.items()}
    if isinstance(body, list):
        return [_calling(url, part) for part in body]
    return url if isinstance(body, str) and re.match("(?i)https?://", body) else body


def _complaints(recorder: ScenarioRecorder) -> Iterator[str]:
    for case_id, checks in recorder.checks.items():
        for check in checks:
            if check.failure_info is not None:
                yield _complaint(recorder, case_id, check)


def _complaint(recorder: ScenarioRecorder, case_id: str, check: CheckNode) -> str:
    found = check.failure_info
    response = recorder.find_response(case_id=case_id)
    answer = response.content.decode("utf-8", "replace") if response and response.content else ""
    assert found is not None
    return f"{check.name}: {found.failure.title}\n{found.failure.message}\n{found.code_sample}\n{answer}"
