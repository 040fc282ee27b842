"""What the output never does: steer a terminal, add a line, lose a part of a value, colour where colour is unwanted."""

import io
from typing import Any

import pytest

from tests.cli.commands import Shell, Stream
from timeball.cli.output import Column, show_list, show_one
from timeball.cli.surroundings import Surroundings

HOSTILE = "\x1b[2J\x1b]0;title\x07<b>[red]\u202eabc\r\nsecond\tcell\x00"
COLUMNS = (Column("NAME", "name"), Column("AT", "at"))


def surroundings(*, is_terminal: bool = False, **environment: str) -> Surroundings:
    stream = Stream(is_terminal=is_terminal)
    return Surroundings(environment={"COLUMNS": "80", **environment}, stdout=stream, stderr=Stream())


def printed(around: Surroundings) -> str:
    assert isinstance(around.stdout, io.StringIO)
    return around.stdout.getvalue()


@pytest.mark.parametrize("is_terminal", [False, True])
def test_a_hostile_name_neither_steers_the_terminal_nor_adds_a_line(*, is_terminal: bool) -> None:
    around = surroundings(is_terminal=is_terminal, NO_COLOR="1", TERM="dumb")
    show_list(around, (Column("NAME", "name"),), [{"name": HOSTILE}])
    text = printed(around)
    assert not [one for one in text if not one.isprintable() and one != "\n"]
    assert "[red]" in text
    assert text.count("\n") == 1 + is_terminal


def test_a_hostile_name_in_an_error_is_one_line(shell: Shell) -> None:
    done = shell("job", "list", "--tag", HOSTILE)
    assert (done.status, done.stderr.count("\n")) == (2, 1)
    assert not [one for one in done.stderr[:-1] if not one.isprintable()]


# Each case: a value, and what a pipe gets.
PLAIN: dict[str, tuple[Any, str]] = {
    "nothing": (None, ""),
    "a truth": (True, "true"),
    "a number": (1.5, "1.5"),
    "tags": ({"team": "web", "env": "prod"}, "team:web,env:prod"),
    "an object": ({"a": {"b": 1}}, '{"a": {"b": 1}}'),
    "a list": (["a", "b"], "a,b"),
    "a list of objects": ([{"a": 1}], '[{"a": 1}]'),
    "a long text": ("x" * 5000, "x" * 5000),
    "an instant": ("2026-11-23T09:30:00.000Z", "2026-11-23T09:30:00.000Z"),
    "a tab": ("a\tb", r"a\tb"),
}


@pytest.mark.parametrize("case", PLAIN)
def test_a_pipe_gets_the_whole_value_on_one_line(case: str) -> None:
    value, text = PLAIN[case]
    around = surroundings()
    show_list(around, COLUMNS, [{"name": value, "at": "end"}])
    assert printed(around) == f"{text}\tend\n"


def test_a_narrow_terminal_folds_and_loses_nothing() -> None:
    around = surroundings(is_terminal=True, COLUMNS="30", NO_COLOR="1", TERM="dumb")
    show_list(around, COLUMNS, [{"name": "abcdefghij" * 5, "at": "2026-11-23T09:30:00.000Z"}])
    assert "".join(line[:8].strip() for line in printed(around).splitlines()[1:]).count("a") >= 1
    assert printed(around).replace("\n", "").count("j") == 5


def test_an_instant_on_a_terminal_has_its_zone() -> None:
    around = surroundings(is_terminal=True)
    show_one(around, COLUMNS, {"name": "n", "at": "2026-11-23T09:30:00.250Z"})
    assert "2026-11-23 09:30:00.250 UTC" in printed(around)


def test_a_status_has_a_shape_and_a_word_beside_its_colour() -> None:
    around = surroundings(is_terminal=True, TERM="xterm")
    show_list(around, (Column("STATUS", "name"),), [{"name": "failed"}])
    assert "\x1b[31m✗ failed" in printed(around)
    around = surroundings(is_terminal=True, TERM="xterm", NO_COLOR="1")
    show_list(around, (*COLUMNS, Column("STATUS", "name")), [{"name": "failed"}])
    assert printed(around).count("✗ failed") == 1
    assert "\x1b[31m" not in printed(around)


def test_a_terminal_is_told_that_a_list_goes_on_and_a_pipe_gets_all() -> None:
    items = [{"name": f"job {number}"} for number in range(150)]
    around = surroundings(is_terminal=True)
    show_list(around, COLUMNS, items)
    assert "job 99" in printed(around)
    assert "job 100" not in printed(around)
    assert isinstance(around.stderr, io.StringIO)
    assert around.stderr.getvalue() == "These are the first 100; --limit shows more.\n"
    around = surroundings()
    show_list(around, COLUMNS, items)
    assert printed(around).count("\n") == 150
