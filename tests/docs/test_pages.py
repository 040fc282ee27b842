"""Every block of the pages that people paste from works as it stands there."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import Block, Kind, blocks_of, runner_of
from tests.docs.readme import ROOT, read
from tests.docs.terminal import Output, PageServer, Terminal

PAGES = sorted([*ROOT.glob("docs/start/*.md"), *ROOT.glob("docs/how-to/*.md"), ROOT / "README.md"])
RUN_HERE = [page for page in PAGES if runner_of(page) is None]
BLOCKS = [block for page in RUN_HERE for block in blocks_of(page)]
ON_AWS = {"aws", "cdk"}
"""What a block begins with that AWS alone can answer."""
BY_HAND = ("make run ", "make run\n", 'export PATH="$PWD/.venv/bin:$PATH"\nexport TIMEBALL_URL=…')
"""What a block begins with that a person alone can type: the test has a Timeball already, and its address."""
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    with PageServer() as server, Terminal(server, tmp_path) as terminal:
        yield terminal


@pytest.mark.parametrize("page", [page for page in RUN_HERE if blocks_of(page)], ids=lambda page: page.stem)
def test_the_blocks_of_a_page_work_when_they_are_pasted_one_after_the_other(page: Path, terminal: Terminal) -> None:
    printed = Output("", 0)
    for block in blocks_of(page):
        match block.kind:
            case Kind.RUN:
                printed = _run(block, terminal)
            case Kind.SHOWS:
                _compare(block, printed.text)
            case Kind.FILE:
                terminal.save(block.about, block.text)
            case Kind.TERMINAL:
                terminal.paste(block.text, goes_on=True)


def _run(block: Block, terminal: Terminal) -> Output:
    options = dict(re.findall(r"(exit|after) (\w+)", block.about))
    if "after" in options:
        terminal.server.advance(int(options["after"][:-1]) * _SECONDS[options["after"][-1]])
    printed = terminal.paste(block.text)
    assert printed.status == int(options.get("exit", 0)), f"{block} ended with {printed.status}:\n{printed.text}"
    return printed


def _compare(block: Block, text: str) -> None:
    """Find each line of a block in a text, in the same order."""
    lines = iter([_squeezed(line) for line in text.splitlines()])
    for line in block.text.splitlines():
        pattern = ".*".join(map(re.escape, _squeezed(line).split("…")))
        assert any(re.fullmatch(pattern, one) for one in lines), (
            f"{block} shows a line that is not there: {line}\n{text}"
        )


def _squeezed(line: str) -> str:
    return " ".join(line.split())


def test_every_block_says_what_it_is() -> None:
    assert [str(block) for block in BLOCKS if block.kind is None] == []


def test_a_block_is_left_to_aws_only_if_it_asks_aws() -> None:
    left = [block for block in BLOCKS if block.kind is Kind.AWS]
    assert [str(block) for block in left if not set(re.findall(r"[\w-]+", block.text)) & ON_AWS] == []


def test_a_block_is_left_to_a_person_only_if_it_starts_a_timeball_or_names_its_address() -> None:
    left = [block for block in BLOCKS if block.kind is Kind.BY_HAND]
    assert [str(block) for block in left if not block.text.startswith(BY_HAND)] == []


def test_every_test_that_a_page_names_for_its_blocks_reads_that_page() -> None:
    for page in PAGES:
        if named := runner_of(page):
            assert page.stem in read(ROOT / named), page
