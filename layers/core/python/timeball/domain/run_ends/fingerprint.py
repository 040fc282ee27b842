"""The fingerprint of a failure: dead letters of one job that failed in the same way have the same one.

It is a hash of the job and of the error without what differs from run to run: numbers, UUIDs, hexadecimal ids and
quoted values. A run without an error counts with its reason.
"""

import hashlib
import re
from typing import Final

from timeball.domain.model.runs.run import Run

_QUOTED: Final = r"""(?<!\w)'[^']*(?:'(?!\w)|$)|"[^"]*(?:"|$)|`[^`]*(?:`|$)|“[^”]*(?:”|$)|«[^»]*(?:»|$)"""
"""A quotation may lack its end, because a row has only the beginning of an error. An apostrophe begins none."""
_UUID: Final = r"\b[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}\b"
_HEXADECIMAL: Final = r"\b0[xX][0-9a-fA-F]+\b|\b(?=[a-fA-F]*[0-9])(?=[0-9]*[a-fA-F])[0-9a-fA-F]{6,}\b"
"""A word of digits and the letters a to f is an id, and a word of these letters alone is a word."""
_CUT_BYTES: Final = 197
"""An error of so many bytes may have lost its end: a character has at most four bytes."""
_NUMBER: Final = r"\d+(?:[.,:]\d+)*"

_LEFT_OUT: Final = tuple(
    (re.compile(pattern), shown)
    for pattern, shown in ((_QUOTED, '"…"'), (_UUID, "#"), (_HEXADECIMAL, "#"), (_NUMBER, "#"), (r"\s+", " "))
)


def outline_of_error(error: str) -> str:
    """Return an error without its numbers, UUIDs, hexadecimal ids and quoted values.

    A row has the first 200 bytes of an error, and the last word of these may be the beginning of an id: it is left out.
    """
    if len(error.encode(errors="replace")) >= _CUT_BYTES:
        error = error.rpartition(" ")[0] or error
    for pattern, shown in _LEFT_OUT:
        error = pattern.sub(shown, error)
    return error.strip()


def fingerprint_of(run: Run) -> str:
    """Return the fingerprint of a run that failed, 16 hexadecimal digits."""
    text = f"{run.id.job.job_id}\n{outline_of_error(error_of(run))}"
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=8).hexdigest()


def error_of(run: Run) -> str:
    """Return why a run failed: the error of its last attempt, or its reason."""
    error = None if run.last is None else run.last.error
    return error or (run.reason.value if run.reason is not None else "")
