"""Prints progress and results for people and for log collectors, and turns errors into exit codes.

An expected error is printed as one line, without a traceback.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Self, TextIO

from kafka_lagoon import __version__, log
from kafka_lagoon.errors import ConfigError, LimitReached, LockHeld, PipelineError, TableError
from kafka_lagoon.text import did_you_mean, printable

COMPLETE, FAILED, BAD_CONFIGURATION, INCOMPLETE, LOCKED = range(5)

_ERASE_LINE = "\r\x1b[2K"
_NO_THREAD = "can't start new thread"  # Python has no class for it
_SEVERITY = (COMPLETE, INCOMPLETE, LOCKED, BAD_CONFIGURATION, FAILED)


def worst(codes: Iterable[int]) -> int:
    """Return the worst of the exit codes of several clusters or tables."""
    return max(codes, key=_SEVERITY.index, default=COMPLETE)


def worst_of_clusters(codes: Iterable[int]) -> int:
    """Return the exit code of a run over several clusters: the worst if all failed, INCOMPLETE if only some failed."""
    each = list(codes)
    was_written = not set(each).isdisjoint((COMPLETE, INCOMPLETE))
    return min(worst(each), INCOMPLETE, key=_SEVERITY.index) if was_written else worst(each)


def takes_escapes(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Return True if a stream is a terminal that understands escape sequences: colours, and moves of the cursor."""
    return stream.isatty() and environ.get("TERM") != "dumb"  # words: ok, the variable of terminals


class OutputFailed(Exception):
    """Standard output cannot be written, for example because the disk is full. `cli/pipes.py` ends the command."""


def put(text: str) -> None:
    """Write to standard output, and flush. OutputFailed if that fails; BrokenPipeError if the reader has closed it."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputFailed(error.strerror) from error


class UsageError(ConfigError):
    """A command line that cannot be parsed, or a log file that cannot be written. No event reports it."""


class Steps:
    """Shows the current one of several steps: as events of the log, and on a terminal in a live line."""

    def __init__(self, cluster: str, names: Sequence[str]) -> None:
        self._cluster, self._names = cluster, names

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Remove the steps of this cluster from the live line."""
        _LIVE_LINE.show(self._cluster, None)

    def step(self, name: str, items: int) -> None:
        """Begin a step over about `items` items."""
        number = self._names.index(name) + 1
        _LIVE_LINE.show(self._cluster, f"step {number} of {len(self._names)}, {name} ({items:,})")
        log.info("step", cluster=self._cluster, step=number, of=len(self._names), name=name, items=items)


class _LiveLine:
    """A line on a terminal with the steps of all clusters of a run; other lines are printed above it."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._texts: dict[str, str] = {}
        self._is_drawn = False

    def show(self, cluster: str, text: str | None) -> None:
        """Show the step of a cluster; None removes it."""
        if not takes_escapes(sys.stderr):
            return
        with self._lock:
            if text:
                self._texts[cluster] = text
            else:
                self._texts.pop(cluster, None)
            self._draw()

    def _draw(self) -> None:
        if self._is_drawn or self._texts:
            import shutil  # noqa: PLC0415  only on a terminal

            line = printable("; ".join(f"{cluster}: {text}" for cluster, text in self._texts.items()))
            sys.stderr.write(_ERASE_LINE + line[: shutil.get_terminal_size().columns - 1])
            sys.stderr.flush()
            self._is_drawn = bool(self._texts)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Remove the line while another line is printed."""
        with self._lock:
            if self._is_drawn:
                sys.stderr.write(_ERASE_LINE)
                sys.stderr.flush()
            yield
            self._draw()


_LIVE_LINE = _LiveLine()


def show_live(name: str, text: str | None) -> None:
    """Show a text under a name in the live line; None removes it. Only on a terminal."""
    _LIVE_LINE.show(name, text)


def say(line: str) -> None:
    """Print a line. Control characters are escaped, because others chose the names in it."""
    say_exactly(printable(line))


def say_exactly(text: str) -> None:
    """Print lines that the caller has escaped: with colours, JSON, or the content of a file."""
    with _LIVE_LINE.hidden():
        put(f"{text}\n")


def say_version() -> int:
    """Print the version; return the exit code."""
    say(f"lagoon {__version__}")
    return COMPLETE


def warn(line: str) -> None:
    """Print a line on standard error. If it cannot be written, the command continues, with the same exit code."""
    with _LIVE_LINE.hidden():
        try:
            print(f"lagoon: {printable(line)}", file=sys.stderr, flush=True)  # noqa: T201  this is where the product speaks
        except BrokenPipeError:
            raise
        except OSError:  # for example a full disk: there is no place left to report it
            pass


def is_confirmed(request: str) -> bool:
    """Ask at the terminal; return True only for the whole word yes. An answer that cannot be decoded is not yes."""
    with _LIVE_LINE.hidden():
        print(f"{printable(request)} Type yes to continue: ", end="", file=sys.stderr, flush=True)  # noqa: T201
    try:
        return input().strip() == "yes"
    except (EOFError, KeyboardInterrupt, UnicodeDecodeError):
        return False


def problems_of(error: PipelineError) -> Sequence[str]:
    """Spell the error in one line, or in a line for each fault of the configuration."""
    return error.problems if isinstance(error, ConfigError) else [" ".join(str(error).split())]


def complain(error: PipelineError, name: str | None = None) -> int:
    """Print an error, with the name of its cluster or table if there are several; return the exit code."""
    for line in problems_of(error):
        warn(f"{name}: {line}" if name else line)
    return code_of(error)


def code_of(error: PipelineError) -> int:
    """Return the exit code of a command that an error ends."""
    match error:
        case ConfigError():
            return BAD_CONFIGURATION
        case LockHeld():
            return LOCKED
        case _:
            return FAILED


def not_a_command(program: str, name: str, known: Iterable[str], usage: str) -> int:
    """Print the usage if it is requested or no command is named, a line for an unknown name; return the exit code."""
    if name in ("-h", "--help"):
        say_exactly(usage)
        return COMPLETE
    if name:
        warn(f"{name}: no such command{did_you_mean(name, known)}; see {program} --help")
    else:
        print(usage, file=sys.stderr)  # noqa: T201  this is where the product speaks
    return BAD_CONFIGURATION


def was_interrupted(error: BaseException) -> bool:
    """Return True for Ctrl-C, and for an error that Ctrl-C has caused where other code has caught it."""
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in causes:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    return any(isinstance(one, KeyboardInterrupt) for one in causes)


def warn_of_interrupt() -> None:
    """Print the one line of a command that Ctrl-C ends, over what the terminal shows for the key."""
    if takes_escapes(sys.stderr):
        sys.stderr.write(_ERASE_LINE)
    warn("interrupted")


def expected(error: BaseException) -> BaseException:
    """TableError for a JVM that has ended, for example for want of memory: between any two calls. Other errors as they are.

    LimitReached if this process wants memory, or a thread.
    """
    if isinstance(error, MemoryError):
        return LimitReached("out of memory: see the limits of this process (`ulimit -v -d`) and of its control group")
    if isinstance(error, RuntimeError) and str(error) == _NO_THREAD:
        return LimitReached(
            f"{_NO_THREAD}: see the limits of this user and process on processes and memory (`ulimit -u -v -d`), "
            "and of its control group"
        )
    if "kafka_lagoon.delta.storage" not in sys.modules:
        return error
    from kafka_lagoon.delta.storage import JVM_ENDED, has_no_answer  # noqa: PLC0415  most commands start no JVM

    return TableError(JVM_ENDED) if has_no_answer(error) else error


def reported(run: Callable[[], int]) -> int:
    """Run a command and print its errors as lines; return the exit code."""
    if not sys.stderr.isatty():
        log.configure()
    try:
        return run()
    except PipelineError as error:
        if was_interrupted(error):
            raise KeyboardInterrupt from error
        return complain(error)
    except Exception as error:
        if was_interrupted(error) or not isinstance(failure := expected(error), PipelineError):
            raise
        return complain(failure)


def log_to(path: Path | None) -> None:
    """Append the log's events to a file instead of standard error; UsageError if it cannot be opened."""
    if path is None:
        return
    try:
        log.append_to(path)
    except OSError as error:
        raise UsageError([f"--log-file {path}: {error.strerror}"]) from error
