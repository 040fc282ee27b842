"""The sizes of modules count code, and neither words nor blank lines."""

from pathlib import Path

from tests.house.sizes import MOST_MODULES, Size, crowded, size_of

MODULE = '''"""A docstring

of three lines."""

import ast
from pathlib import (
    Path,
)

# A comment.
LIMIT = 3
"""The words beside a value."""


def nothing() -> str:
    """Return a text."""
    return """of
two lines"""
'''


def test_a_line_of_code_is_no_blank_no_comment_and_no_docstring(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(MODULE)
    assert size_of(path) == Size(path, code=8, imports=4)


def test_a_folder_is_crowded_by_its_modules_alone(tmp_path: Path) -> None:
    full = [tmp_path / "full" / f"{number}.py" for number in range(MOST_MODULES)]
    assert not crowded([*full, tmp_path / "full/__init__.py"])
    assert crowded([*full, tmp_path / "full/one_more.py"]) == {tmp_path / "full": MOST_MODULES + 1}


def test_a_folder_that_is_flat_for_a_reason_may_hold_more() -> None:
    assert not crowded(Path("infra") / f"{number}.py" for number in range(MOST_MODULES + 1))
