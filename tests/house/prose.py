"""Finds sentences that a reader must read twice: in docstrings, comments, names of tests, messages and documents.

The rules are coarse. A file without a finding may still read badly. A few findings are unfair, so the bar is a share.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

SHORTEST = 12
"""A sentence has at least so many characters; shorter texts are labels."""

_PROCESS_WORDS = r"nobody|somebody|whoever|anybody|everybody"
_STEPS = "①②③④⑤⑥⑦⑧⑨⓪"
_LONGER_THAN_A_LABEL = r"(?=(?:\S+\s+){6})"
_BEFORE_AN_AIM = "aim|goal|point|purpose|idea|job|rule|fix|way|remedy|step|alternative"
_STANDS_BEHIND = r"firewall|proxy|gateway|NAT|load balancer|base path|prefix|flag|interface|API|schedule|clock|curtain"

RULES = {
    "a relative clause is the subject": re.compile(
        rf"^(?:(?:Who|What) (?!if\b|about\b){_LONGER_THAN_A_LABEL}|(?:Whom|Whoever|Whose|Whatever)\b)(?!.*\?$)"
    ),
    "the object comes before the verb": re.compile(
        r"^(?:Of|Beyond|Behind) (?:each|how|what|which|whom|a|an|the|one|its|it|these|those|any|some)\b"
        r"(?! (?:course|following|same))"
    ),
    "'is to' stands for must, will or may": re.compile(
        "".join(rf"(?<!{word} )" for word in _BEFORE_AN_AIM.split("|"))
        + r"\b(?:is|are|was|were) to (?!blame\b|date\b|scale\b)(?:be )?[a-z]+\b"
    ),
    "a word for people stands for a process or a row": re.compile(
        rf"\b(?:{_PROCESS_WORDS})\b|\b(?:return|calls?|called|told|tells?|names?|named) whom\b", re.IGNORECASE
    ),
    "'behind' stands for after": re.compile(
        r"(?<!lag )(?<!lags )(?<!lagging )(?<!fall )(?<!falls )(?<!falling )"
        rf"\bbehind (?:[{_STEPS}]|(?:a|an|the|its|this|that|it|what|who)\b(?! (?:\w+ )?(?:{_STANDS_BEHIND})\b))",
        re.IGNORECASE,
    ),
    "an old-fashioned word": re.compile(
        r"\b(?:save for|(?<!not )but for (?!\w+ing\b)|hence|lest|shall|in vain|to and fro)\b", re.IGNORECASE
    ),
    "'one' stands for a noun": re.compile(
        r"(?:^|[;:] )one that\b|\bof one that\b|\b(?:one of one|that of one|such a one)\b|\banother's(?! \w)",
        re.IGNORECASE,
    ),
}
"""What makes a sentence hard, and how it is recognised."""

_SENTENCE_ENDS = re.compile(rf"(?<=[.!?])[)*`\"']*\s+(?=[A-Z`\"'(*{_STEPS}])")
_PARAGRAPH_ENDS = re.compile(r"\n\s*\n|\n\s*[*-] ")
_MESSAGE = re.compile(r"[A-Z]\S* (?:\S+ ){2}")
_LIST_ITEM = re.compile(r"\d+\. ")


@dataclass(frozen=True)
class Sentence:
    """A sentence, and where the text that holds it begins."""

    path: Path
    line: int
    text: str

    @property
    def faults(self) -> list[str]:
        """The rules that the sentence breaks."""
        return [name for name, rule in RULES.items() if rule.search(self.text)]


def sentences_in(paths: Iterable[Path]) -> list[Sentence]:
    """Return the sentences of Python and Markdown files."""
    return [
        Sentence(path, line, sentence)
        for path in paths
        for line, text in _texts(path)
        for part in _SENTENCE_ENDS.split(" ".join(text.split()))
        if len(sentence := part.lstrip("*_ ")) >= SHORTEST
    ]


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield from _markdown(source)
        return
    for node in ast.walk(ast.parse(source)):
        yield from _texts_of(node)
    yield from _comments(source)


def _texts_of(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield docstrings, names of tests, and the messages and descriptions that calls are given."""
    if isinstance(node, ast.Expr) and _is_text(node.value):
        for paragraph in _PARAGRAPH_ENDS.split(ast.literal_eval(node.value)):
            yield node.lineno, paragraph
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
        yield node.lineno, node.name.removeprefix("test_").replace("_", " ").capitalize() + "."
    if isinstance(node, ast.Call):
        for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
            if _is_text(argument) and _MESSAGE.match(text := ast.literal_eval(argument)):
                yield node.lineno, text


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield comments; those on lines that follow each other are one text."""
    tokens = [one for one in tokenize.generate_tokens(io.StringIO(source).readline) if one.type == tokenize.COMMENT]
    for _, block in groupby(enumerate(tokens), lambda numbered: numbered[1].start[0] - numbered[0]):
        comments = [token for _, token in block]
        yield comments[0].start[0], " ".join(token.string.lstrip("# ") for token in comments)


def _markdown(source: str) -> Iterator[tuple[int, str]]:
    """Yield paragraphs, items of lists, and cells of tables; code blocks and headings are left out."""
    prose = re.sub(r"```.*?```", lambda code: "\n" * code.group().count("\n"), source, flags=re.DOTALL)
    paragraph: list[str] = []
    begins = 0
    for number, line in enumerate([*prose.splitlines(), ""], 1):
        text = line.strip()
        begins_anew = not text or text.startswith(("#", "|", "* ", "- ", ">")) or _LIST_ITEM.match(text) is not None
        if begins_anew and paragraph:
            yield begins, " ".join(paragraph)
            paragraph = []
        if text.startswith("|"):
            yield from ((number, cell.strip()) for cell in text.strip("|").split(" | "))
        elif text and not text.startswith("#"):
            begins = begins if paragraph else number
            paragraph.append(text.lstrip("*->0123456789. ") if begins_anew else text)


def per_thousand(sentences: Sequence[Sentence]) -> float:
    """Return how many of a thousand sentences break a rule."""
    return 1000 * sum(bool(one.faults) for one in sentences) / max(1, len(sentences))
