"""The way of a plain run, and of a cancel, through the files of the package: `make paths` prints both.

Each is traced on the in-memory engine. Only functions of the package count, without the fakes in `timeball.testing`.
Each step that a process takes only once, such as the parsing of a schedule, is taken before.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import timeball
from tests.engine.play import Play, spec
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.time.instants import MINUTE_MS
from timeball.domain.time.schedule import At, Every
from timeball.engine.changes.change import cancel
from timeball.engine.context import Context
from timeball.engine.scheduling.submit import submit

PACKAGE = str(Path(timeball.__file__).parent) + "/"
FAKES = PACKAGE + "testing/"
_WITHIN_A_FUNCTION = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}
"""The code of comprehensions: whether it is a function of its own depends on the version of Python."""

FILES = 78
"""The bar for the files of the package that a plain run passes; the aim is 40."""
CALLS = 12
"""The bar for the calls within the package from a cancel to its deepest function, both included."""


@dataclass
class Way:
    """The way of some work through the package."""

    files: dict[str, str] = field(default_factory=dict)
    """The files in the order of first use, each with the first function that was called in it."""
    returns: int = 0
    """How often a function was called in a file that the work had left."""
    deepest: list[str] = field(default_factory=list)
    """The deepest chain of calls: the file and the name of each function."""
    _last: str = ""

    def enter(self, frame: FrameType, event: str, _: object) -> None:
        """Record a call; a profile function, as in `sys.setprofile`."""
        if event != "call" or not _counts(frame):
            return
        file = _file(frame)
        if file not in self.files:
            self.files[file] = frame.f_code.co_qualname
        elif file != self._last:
            self.returns += 1
        self._last = file
        chain = [f"{_file(one)}: {one.f_code.co_qualname}" for one in _callers(frame) if _counts(one)]
        if len(chain) > len(self.deepest):
            self.deepest = chain[::-1]


def way_of(work: Callable[[], object]) -> Way:
    """Return the way of some work."""
    way = Way()
    sys.setprofile(way.enter)
    try:
        work()
    finally:
        sys.setprofile(None)
    return way


def plain_run() -> Way:
    """Return the way of a one-off job without any feature: submit, scan, execute."""
    _run_of_one_off()()
    return way_of(_run_of_one_off())


def cancelled_job() -> Way:
    """Return the way of the cancel of a recurring job that has a run in the queue."""
    _cancel_of_recurring()()
    return way_of(_cancel_of_recurring())


def _run_of_one_off() -> Callable[[], object]:
    play = Play()
    context, job = play.context(), spec("job", At(play.clock.now() + MINUTE_MS))

    def run() -> None:
        _send(play, context, job)
        assert play.execute_next()

    return run


def _cancel_of_recurring() -> Callable[[], object]:
    play = Play()
    context, job = play.context(), spec("job", Every(60, play.clock.now() + MINUTE_MS))
    _send(play, context, job)
    return lambda: cancel(context, [(job.key, None)])


def _send(play: Play, context: Context, job: JobSpec) -> None:
    submit(context, [job], play.clock.now())
    play.clock.advance(MINUTE_MS)
    play.scan()
    assert len(play.queue.sent) == 1


def _counts(frame: FrameType) -> bool:
    path = frame.f_code.co_filename
    is_of_package = path.startswith(PACKAGE) and not path.startswith(FAKES)
    return is_of_package and frame.f_code.co_name not in _WITHIN_A_FUNCTION


def _file(frame: FrameType) -> str:
    return frame.f_code.co_filename.removeprefix(PACKAGE)


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def main() -> None:
    """Print both ways, and the bars."""
    run, cancelling = plain_run(), cancelled_job()
    lines = [
        f"A plain run passes {len(run.files)} files (bar {FILES}, aim 40), and comes back {run.returns} times:",
        *(f"  {file}: {first}" for file, first in run.files.items()),
        f"A cancel is {len(cancelling.deepest)} calls deep (bar {CALLS}):",
        *(f"  {call}" for call in cancelling.deepest),
    ]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
