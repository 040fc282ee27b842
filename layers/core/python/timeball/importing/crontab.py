"""Reads a crontab, of a user or of the system: each line becomes a job whose payload is the command, or a sentence.

The variables above a line go with it: CRON_TZ is its zone, RANDOM_DELAY its jitter, MAILTO is named in a note, and the
others are in the payload as the command's environment. TZ alone changes nothing in cronie but the command's own clock;
most files that have it mean the zone of the machine, so it counts as that unless a zone is given.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final

from timeball.domain.time.instants import InvalidSchedule
from timeball.domain.time.stepper import DstOverlap, Gap
from timeball.domain.time.zones import load_zone
from timeball.importing.definitions import (
    Found,
    ImportedJob,
    ImportOptions,
    OriginRule,
    RefusedDefinition,
    Timetable,
    UnreadableError,
    id_of,
    with_unique_ids,
)
from timeball.importing.origins.cronie import NICKNAMES, CronieTimes, cronie_fires, read_cronie
from timeball.importing.rewriting import cron_fields, expression_of

_VARIABLE: Final = re.compile(r"\s*(?:\"([^\"=]+)\"|'([^'=]+)'|([A-Za-z_]\w*))\s*=\s*(.*?)\s*", re.ASCII)
_PERCENT: Final = re.compile(r"\\%|%")
_FIELDS: Final = re.compile(r"-?(@\w+|(?:\S+\s+){4}\S+)(?:\s+(.*))?", re.DOTALL)
_OPTION: Final = re.compile(r"-n\s+")
_MOST_JITTER_SECONDS: Final = 86_400


@dataclass
class _Lines:
    """The variables that hold for the lines after them."""

    variables: dict[str, str] = field(default_factory=dict)
    """Their values by their names."""


@dataclass(frozen=True)
class _Command:
    """The part of a line after its schedule."""

    user: str | None
    """The user that runs it, in a crontab of the system."""
    text: str
    """The command, in which `%` is a line break."""
    stdin: str | None
    """The text after the first `%`; None: there is none."""


def read_crontab(text: str, given: ImportOptions) -> list[Found]:
    """Return the definitions of a crontab."""
    lines = _Lines()
    return with_unique_ids(
        found
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
        for found in _line(number, line.strip(), lines, given)
    )


def _line(number: int, line: str, lines: _Lines, given: ImportOptions) -> Iterator[Found]:
    where = f"line {number}"
    if (match := _VARIABLE.fullmatch(line)) and not line.startswith("@"):
        name, value = match[1] or match[2] or match[3], match[4]
        quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
        lines.variables[name] = value[1:-1] if quoted else value
        return
    try:
        yield _job(where, line, lines.variables, given)
    except (UnreadableError, InvalidSchedule) as bad:
        yield RefusedDefinition(where, line, str(bad))


def _job(where: str, line: str, variables: Mapping[str, str], given: ImportOptions) -> ImportedJob:
    match = _FIELDS.fullmatch(line)
    if not match or not match[2]:
        raise UnreadableError("This is no line of a crontab: it has no five fields and a command after them.")
    written = " ".join(match[1].split())
    command, notes = _command(match[2], is_system=given.is_system)
    table = timetable(written, variables, given.timezone)
    about = PurePosixPath(_first_word(command.text)).stem
    body = {
        # No name: the id has the first word of the command. The rest of it may have secrets, and names are in notices.
        **given.calls,
        "payload": _payload(command, variables),
        **table.fields,
        "tags": {"imported-from": "crontab"},
    }
    notes += _variable_notes(variables)
    if line.startswith("-"):
        notes += ("The - before the schedule, which keeps the line out of the system's log, has no counterpart.",)
    job_id = id_of(f"cron-{about}", written, command.user, command.text, command.stdin)
    return ImportedJob(where, written, job_id, body, table.origin, (*table.notes, *notes))


def timetable(written: str, variables: Mapping[str, str], machine: str | None) -> Timetable:
    """Return the schedule of a line. Raises UnreadableError, or InvalidSchedule for an unknown zone."""
    cron_tz = variables.get("CRON_TZ") or None
    clock = load_zone(machine or variables.get("TZ", "").lstrip(":") or "UTC").name
    zone = clock if cron_tz is None else load_zone(cron_tz.lstrip(":")).name
    times = read_cronie(_five(written))
    expression = expression_of(times.wall, times.texts, times.dates, times.weekdays)
    gap, overlap = _policies(times, clock, cron_tz and zone)
    fields = cron_fields(expression, zone, lambda _fields: gap, lambda _fields: overlap)
    notes = []
    if expression.split() != list(times.texts):
        notes.append(f'"{written}" is written as "{expression}", which Timeball reads in the same way.')
    if machine is None and cron_tz is None and variables.get("TZ"):
        notes.append("TZ counts as the zone of the machine; cronie itself gives it to the command alone.")
    fields |= _jitter(variables)
    origin = OriginRule("cronie", (written, clock, cron_tz and zone), cronie_fires(times, clock, cron_tz and zone))
    return Timetable(fields, origin, tuple(notes))


def _five(written: str) -> tuple[str, ...]:
    if not written.startswith("@"):
        return tuple(written.split())
    if written == "@reboot":
        raise UnreadableError("@reboot names no time: nothing boots here; start the command with the machine instead.")
    if written not in NICKNAMES:
        raise UnreadableError(f"cronie refuses {written}, so it has never run this.")
    return tuple(NICKNAMES[written].split())


def _policies(times: CronieTimes, clock: str, cron_tz: str | None) -> tuple[Gap, DstOverlap]:
    """Return the policies that come closest to what cronie does."""
    if not times.is_fixed:
        return Gap.SKIP, DstOverlap.BOTH
    if cron_tz is None:
        return Gap.NEXT, DstOverlap.FIRST
    return Gap.SKIP, DstOverlap.FIRST if cron_tz == clock else DstOverlap.BOTH


def _jitter(variables: Mapping[str, str]) -> dict[str, Any]:
    minutes = variables.get("RANDOM_DELAY", "")
    if not minutes.isdigit() or int(minutes) == 0:
        return {}
    return {"jitterSeconds": min(int(minutes) * 60, _MOST_JITTER_SECONDS)}


def _command(text: str, *, is_system: bool) -> tuple[_Command, tuple[str, ...]]:
    user, rest = None, text
    if is_system:
        user, _, rest = text.partition(" ") if " " in text else (text, "", "")
        rest = rest.strip()
        if not rest:
            raise UnreadableError(
                "After the five fields a line of the system's crontab has a user, and then a command."
            )
    notes: tuple[str, ...] = ()
    if option := _OPTION.match(rest):
        rest = rest[option.end() :]
        notes += ("The option -n, which mails failures only, has no counterpart; see notify.",)
    if user is not None:
        notes += (f"The user {user} stands in the payload; the worker has to run as that user.",)
    elif rest.startswith("root "):
        notes += ("If root is the user of this line and not its command, say --system.",)
    parts = _split_percent(rest)
    stdin = None if len(parts) == 1 else "\n".join(parts[1:]).removesuffix("\n") + "\n"
    return _Command(user, parts[0].rstrip() if stdin is not None else parts[0], stdin), notes


def _split_percent(text: str) -> list[str]:
    parts, start, current = [], 0, ""
    for match in _PERCENT.finditer(text):
        current += text[start : match.start()]
        start = match.end()
        if match[0] == "%":
            parts.append(current)
            current = ""
        else:
            current += "%"
    return [*parts, current + text[start:]]


def _payload(command: _Command, variables: Mapping[str, str]) -> dict[str, Any]:
    environment = _environment(variables)
    payload: dict[str, Any] = {"command": command.text}
    if command.stdin is not None:
        payload["stdin"] = command.stdin
    if environment:
        payload["environment"] = environment
    if command.user is not None:
        payload["user"] = command.user
    return payload


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    own = {"CRON_TZ", "MAILTO", "MAILFROM", "RANDOM_DELAY", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING"}
    return {name: value for name, value in variables.items() if name not in own}


def _variable_notes(variables: Mapping[str, str]) -> tuple[str, ...]:
    notes: tuple[str, ...] = ()
    if names := list(_environment(variables)):
        listed = f"values of {', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else f"value of {names[0]}"
        notes += (f"The payload has the {listed}, which each reader of the job sees.",)
    if variables.get("MAILTO"):
        notes += (f"No output is mailed to {variables['MAILTO']}; notify can call a target when a run fails.",)
    if variables.get("RANDOM_DELAY"):
        notes += ("RANDOM_DELAY became jitterSeconds: each fire has a delay of its own, not each start of cron.",)
    return notes


def _first_word(command: str) -> str:
    try:
        words = shlex.split(command)
    except ValueError:
        words = re.split(r"[\"'\\]", command)[0].split()  # what is quoted may be a secret
    return next((word for word in words if "=" not in word and word not in {"(", "cd", "sudo"}), "command")
