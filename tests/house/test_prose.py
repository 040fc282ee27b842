"""Which sentences have to be read twice, and where sentences stand."""

from pathlib import Path

import pytest

from tests.house.prose import RULES, per_thousand, sentences_in

HARD = {
    "Whoever holds the lease renews it.": "a relative clause is the subject",
    "What the scan has found is sent to the queue.": "a relative clause is the subject",
    "Of each shard the oldest day is read.": "the object comes before the verb",
    "A run is to be sent once.": "'is to' stands for must, will or may",
    "The run is stored where nobody finds it.": "a word for people stands for a process or a row",
    "It returns the run and tells whom it serves.": "a word for people stands for a process or a row",
    "The row is written behind the message.": "'behind' stands for after",
    "The message waits behind ③ for a second.": "'behind' stands for after",
    "The executor looks for work in vain.": "an old-fashioned word",
    "The lock of one that has died is freed; one that lives keeps it.": "'one' stands for a noun",
}
PLAIN = (
    "The scan sends the run to its queue.",
    "What if the scan dies before it sends the message?",
    "The aim is to send each run once.",
    "The target stands behind a firewall.",
    "Executors that fall behind the schedule catch up.",
    "Of course the lease may end first.",
    "What ends it.",
)


@pytest.mark.parametrize("sentence", HARD)
def test_a_hard_sentence_breaks_its_rule(tmp_path: Path, sentence: str) -> None:
    assert HARD[sentence] in _only(tmp_path, "page.md", sentence)


@pytest.mark.parametrize("sentence", PLAIN)
def test_a_plain_sentence_breaks_no_rule(tmp_path: Path, sentence: str) -> None:
    assert _only(tmp_path, "page.md", sentence) == []


def test_each_rule_has_a_sentence_that_breaks_it() -> None:
    assert set(HARD.values()) == RULES.keys()


MODULE = '''"""The module says this. It says that, too."""
# A comment goes on
# over two lines.

def test_a_run_is_stored():
    """A docstring says more.

    * An item of a list.
    """
    refuse("A message has words.", about="A description has words, too.", name="short")
'''
PAGE = """# A heading is left out

A paragraph goes on
over two lines. It has two sentences.

| a cell of a table | another cell here |
* An item of a list.

```
Code is left out of the prose.
```
"""


@pytest.mark.parametrize(
    ("name", "source", "found"),
    [
        (
            "module.py",
            MODULE,
            {
                "The module says this.",
                "It says that, too.",
                "A comment goes on over two lines.",
                "A run is stored.",
                "A docstring says more.",
                "An item of a list.",
                "A message has words.",
                "A description has words, too.",
            },
        ),
        (
            "page.md",
            PAGE,
            {
                "A paragraph goes on over two lines.",
                "It has two sentences.",
                "a cell of a table",
                "another cell here",
                "An item of a list.",
            },
        ),
    ],
)
def test_sentences_stand_in_docstrings_comments_names_of_tests_messages_and_pages(
    tmp_path: Path, name: str, source: str, found: set[str]
) -> None:
    (tmp_path / name).write_text(source)
    assert {one.text for one in sentences_in([tmp_path / name])} == found


def test_hard_sentences_are_counted_in_a_thousand(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("Whoever reads this reads it twice. This one reads well.\n")
    assert per_thousand(sentences_in([tmp_path / "page.md"])) == 500
    assert per_thousand([]) == 0


def _only(folder: Path, name: str, sentence: str) -> list[str]:
    """Return the rules that a sentence of a page breaks."""
    (folder / name).write_text(sentence)
    (found,) = sentences_in([folder / name])
    return found.faults
