"""`timeball preview`: its output, its refusals, and the modules that it does not load."""

import json
import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from tests.cli.commands import Done, timeball
from timeball.cli.main import main
from timeball.domain.time.instants import parse_instant

ROOT = Path(__file__).parents[2]
NOW = parse_instant("2026-10-24T00:00:00.250Z")
CRON = ("--cron", "30 2 * * *")
BERLIN = ("--timezone", "Europe/Berlin")
FROM = ("--from", "2026-10-24T00:00:00Z")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> "Run":
    return Run(capsys)


class Run:
    """Runs `timeball preview` in this process, at NOW."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Done:
        status = main(["preview", *arguments], lambda: NOW)
        seen = self._capsys.readouterr()
        return Done(status, seen.out, seen.err)


def test_it_prints_an_array_of_fires() -> None:
    done = timeball(["preview", "--cron", "30 1 * * *", *BERLIN, *FROM, "--count", "2", "--json"])
    assert (done.status, done.stderr) == (0, "")
    assert done.json == [
        {
            "fireTime": "2026-10-24T23:30:00.000Z",
            "localTime": "2026-10-25T01:30:00",
            "utcOffset": "+02:00",
            "note": None,
        },
        {
            "fireTime": "2026-10-26T00:30:00.000Z",
            "localTime": "2026-10-26T01:30:00",
            "utcOffset": "+01:00",
            "note": "the first fire after the clocks went back on 2026-10-25",
        },
    ]


def test_it_prints_a_table_for_people(run: Run) -> None:
    assert run(*CRON, *BERLIN, *FROM, "--count", "2").stdout == (
        "FIRE TIME                 LOCAL TIME           OFFSET  NOTE\n"
        "2026-10-24T00:30:00.000Z  2026-10-24T02:30:00  +02:00\n"
        "2026-10-25T00:30:00.000Z  2026-10-25T02:30:00  +02:00  the first of two times that clocks show 02:30\n"
    )


# Each case: the arguments, and the fire times.
FIRES: dict[str, tuple[tuple[str, ...], list[str]]] = {
    "five from now on, in UTC": (CRON, [f"2026-10-{day}T02:30:00.000Z" for day in (24, 25, 26, 27, 28)]),
    "an interval begins with the next whole second": (
        ("--every", "60", "--count", "2"),
        ["2026-10-24T00:00:01.000Z", "2026-10-24T00:01:01.000Z"],
    ),
    "an interval begins with the start, if that is given": (
        ("--every", "PT15M", *FROM, "--count", "2"),
        ["2026-10-24T00:00:00.000Z", "2026-10-24T00:15:00.000Z"],
    ),
    "an interval is aligned to its anchor": (
        ("--every", "3600", "--anchor", "2020-01-01T00:00:07+01:00", *FROM, "--count", "1"),
        ["2026-10-24T00:00:07.000Z"],
    ),
    "a gap that is skipped": (
        (*CRON, *BERLIN, "--dst-gap", "skip", "--from", "2026-03-29T00:00:00Z", "--count", "1"),
        ["2026-03-30T00:30:00.000Z"],
    ),
    "a gap that fires at its end": (
        ("--cron", "*/5 2 * * *", *BERLIN, "--dst-gap", "next", "--from", "2026-03-29T00:00:00Z", "--count", "1"),
        ["2026-03-29T01:00:00.000Z"],
    ),
    "an overlap that fires twice": (
        (*CRON, *BERLIN, "--dst-overlap", "both", "--from", "2026-10-25T00:00:00Z", "--count", "2"),
        ["2026-10-25T00:30:00.000Z", "2026-10-25T01:30:00.000Z"],
    ),
    "an overlap that fires once": (
        ("--cron", "*/30 2 * * *", *BERLIN, "--dst-overlap", "first", "--from", "2026-10-25T00:30:00Z", "--count", "2"),
        ["2026-10-25T00:30:00.000Z", "2026-10-26T01:00:00.000Z"],
    ),
    "fewer than asked for at the end of time": (
        ("--every", "P1D", "--from", "2399-12-31T12:00:00Z"),
        ["2399-12-31T12:00:00.000Z"],
    ),
}


@pytest.mark.parametrize("case", FIRES)
def test_options_choose_the_fires_that_are_shown(run: Run, case: str) -> None:
    arguments, expected = FIRES[case]
    done = run(*arguments, "--json")
    assert (done.status, done.stderr) == (0, "")
    assert [fire["fireTime"] for fire in done.json] == expected


def test_an_interval_is_shown_by_the_clock_of_a_zone(run: Run) -> None:
    (fire,) = run("--every", "60", *FROM, "--timezone", "Asia/Kolkata", "--count", "1", "--json").json
    assert (fire["localTime"], fire["utcOffset"]) == ("2026-10-24T05:30:00", "+05:30")


def test_up_to_a_thousand_fires_are_shown(run: Run) -> None:
    assert len(run("--every", "1", "--count", "1000", "--json").json) == 1000


@pytest.mark.parametrize(("options", "stdout"), [(("--json",), "[]\n"), ((), "")])
def test_a_schedule_that_never_fires_is_reported_and_is_no_error(
    run: Run, options: tuple[str, ...], stdout: str
) -> None:
    done = run("--cron", "30 2 25-31 3 */7", *BERLIN, "--dst-gap", "skip", *FROM, *options)
    assert (done.status, done.stdout) == (0, stdout)
    assert done.stderr == "This schedule has no fire time from 2026-10-24T00:00:00.000Z on.\n"


# Each case: the arguments, and words of the sentence.
REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "no schedule": ((), "give --cron or --every"),
    "two schedules": ((*CRON, "--every", "5"), "not both"),
    "a bad cron": (("--cron", "61 * * * *"), "--cron: The minute 61 is out of range"),
    "an empty cron": (("--cron", ""), "empty"),
    "a cron that never fires": (("--cron", "0 0 30 2 *"), "never fires"),
    "a cron of two lines": (("--cron", "0 0\n* * *"), "U+000A"),
    "an endless cron": (("--cron", "* " * 200), "at most 256"),
    "an unknown zone": ((*CRON, "--timezone", "Europe/Berln"), 'write "Europe/Berlin"'),
    "an empty zone": ((*CRON, "--timezone", ""), "unknown"),
    "a zone of two lines": ((*CRON, "--timezone", "a\nb"), r"a\nb"),
    "a zone that steers the terminal": ((*CRON, "--timezone", "\x1b[2J"), r"\x1b[2J"),
    "a zone of an interval": (("--every", "5", "--timezone", "Mars/Olympus"), "unknown"),
    "a start without an offset": ((*CRON, "--from", "2026-10-24T00:00:00"), "--from: Give the time an offset"),
    "a start before 1970": ((*CRON, "--from", "1969-12-31T23:59:59Z"), "1970"),
    "a start beyond 2399": ((*CRON, "--from", "2400-01-01T00:00:00Z"), "2399"),
    "a bad anchor": (("--every", "5", "--anchor", "noon"), "--anchor: Write a time"),
    "an anchor of a cron": ((*CRON, "--anchor", "2026-10-24T00:00:00Z"), "goes with --every only"),
    "a gap of an interval": (("--every", "5", "--dst-gap", "skip"), "goes with --cron only"),
    "an overlap of an interval": (("--every", "5", "--dst-overlap", "both"), "goes with --cron only"),
    "an unknown gap": ((*CRON, "--dst-gap", "both"), "--dst-gap: Give next or skip."),
    "an unknown overlap": ((*CRON, "--dst-overlap", "next"), "--dst-overlap: Give first or both."),
    "an interval of 0": (("--every", "0"), "1 to 316224000"),
    "an interval below 0": (("--every", "-5"), "PT15M"),
    "an interval of centuries": (("--every", "P99999W"), "1 to 316224000"),
    "an interval of 5000 digits": (("--every", "9" * 5000), "PT15M"),
    "an interval in months": (("--every", "P1M"), "PT15M"),
    "half a second": (("--every", "0.5"), "PT15M"),
    "a count of 0": ((*CRON, "--count", "0"), "1 to 1000"),
    "a count of 1001": ((*CRON, "--count", "1001"), "1 to 1000"),
    "a count of 5000 digits": ((*CRON, "--count", "9" * 5000), "1 to 1000"),
    "a count in words": ((*CRON, "--count", "five"), "1 to 1000"),
    "a count in other digits": ((*CRON, "--count", "\u0665"), "1 to 1000"),
    "an unknown option": ((*CRON, "--tz", "UTC"), "--tz"),
    "half an option": ((*CRON, "--time", "UTC"), "--time"),
    "an option without its value": (("--cron",), "--cron: The cron expression has 1 field"),
    "a value of a switch": ((*CRON, "--json=1"), "--json"),
    "an argument of no option": ((*CRON, "UTC"), "UTC"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_invalid_argument_exits_with_2_and_one_sentence(run: Run, case: str) -> None:
    arguments, words = REFUSED[case]
    done = run(*arguments, "--json")
    assert (done.status, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith(".\n")


@pytest.mark.parametrize("arguments", [[], ["prevew"], ["--json"], ["", "x"]])
def test_an_unknown_command_is_refused_in_the_same_way(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    seen = capsys.readouterr()
    assert seen.out == ""
    assert seen.err.endswith("see timeball --help.\n")


def test_a_refusal_is_seen_from_a_shell() -> None:
    done = timeball(["preview", "--cron", "0 9 * *"])
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.startswith("--cron: The cron expression has 4 fields; write five")


def test_help_lists_the_commands_and_each_commands_help_its_options() -> None:
    assert "preview" in timeball(["--help"]).stdout
    done = timeball(["preview", "--help"])
    assert done.status == 0
    for option in ("--cron", "--every", "--anchor", "--timezone", "--from", "--count", "--dst-gap", "--dst-overlap"):
        assert option in done.stdout


def test_without_a_start_it_begins_now() -> None:
    (fire,) = timeball(["preview", "--every", "1", "--count", "1", "--json"]).json
    (later,) = timeball(["preview", "--every", "1", "--count", "1", "--json"]).json
    assert "2026" < fire["fireTime"] <= later["fireTime"]


def test_a_reader_that_closes_the_pipe_is_no_error() -> None:
    command = [sys.executable, "-m", "timeball", "preview", "--every", "1", "--count", "1000", "--json"]
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (141, b"")


def test_it_starts_without_modules_that_only_the_service_needs() -> None:
    code = (
        "import json, sys\n"
        "from timeball.cli.main import main\n"
        "status = main(['preview', '--cron', '30 1 * * *', '--timezone', 'Europe/Berlin', '--json'])\n"
        "print(json.dumps([status, sorted(sys.modules)]), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    status, modules = json.loads(done.stderr)
    assert status == 0
    assert "timeball.domain.time.preview" in modules
    packages = {module.partition(".")[0] for module in modules}
    assert not packages & {"boto3", "botocore", "aws_lambda_powertools", "pydantic", "pydantic_core", "pycurl"}
    assert "importlib.metadata" not in modules
    assert not [module for module in modules if module.startswith(("timeball.aws", "timeball.engine"))]


def test_the_console_script_runs_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, function = project["scripts"]["timeball"].partition(":")
    assert getattr(import_module(module), function) is main
    assert "tzdata" in project["dependencies"]
