"""Writes standard output: to a pipe, which the reader may close early, or through a pager on a terminal."""

import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from io import TextIOWrapper

from kafka_lagoon.cli.terminal import warn_of_interrupt, was_interrupted

# Exit codes that shells report for tools that SIGPIPE or SIGINT ended.
_BROKEN_PIPE, _INTERRUPTED = 128 + signal.SIGPIPE, 128 + signal.SIGINT


def piped(run: Callable[[], int]) -> int:
    """Run a command; return its exit code. If its output is closed early it ends silently, by Ctrl-C with one line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # the terminal's encoding may lack letters of a name
    logging.getLogger().addFilter(_is_no_interrupt)
    try:
        return run()
    except BrokenPipeError:
        # Python must not try again at exit to write the rest of the buffer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except BaseException as error:
        if not was_interrupted(error):
            raise
        warn_of_interrupt()
        return _INTERRUPTED


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    """Drop what py4j logs, with a traceback, when Ctrl-C interrupts a call of Java."""
    return not (record.exc_info and record.exc_info[0] is KeyboardInterrupt)


def write(blocks: Iterable[str]) -> None:
    """Write blocks of lines to standard output, and flush after each block."""
    for block in blocks:
        sys.stdout.write(block)
        sys.stdout.flush()


def write_in_pager(blocks: Iterable[str], environ: Mapping[str, str]) -> None:
    """Write blocks to the terminal if they fit, else through $PAGER, as git does (default `less`; none if empty or `cat`)."""
    pager = environ.get("PAGER", "less").strip()
    first, shown, height = iter(blocks), "", shutil.get_terminal_size().lines
    for block in first:
        shown += block
        if shown.count("\n") >= height:
            break
    else:
        write([shown])
        return
    if pager in ("", "cat") or not _through(pager, environ, shown, first):
        write([shown])
        write(first)


def _through(pager: str, environ: Mapping[str, str], shown: str, others: Iterable[str]) -> bool:
    """Write the blocks to a pager; return False if there is no such program."""
    if not shutil.which(pager.split(maxsplit=1)[0]):
        return False
    settings = {"LESS": "FSX", **environ}  # -F ends if all fits, -S cuts long lines, -X does not clear the screen
    viewer = subprocess.Popen(pager, shell=True, stdin=subprocess.PIPE, text=True, env=settings)  # noqa: S602  $PAGER is the user's own
    assert viewer.stdin  # noqa: S101
    try:
        viewer.stdin.write(shown)
        for block in others:
            viewer.stdin.write(block)
        viewer.stdin.close()
    except (BrokenPipeError, KeyboardInterrupt):
        pass  # the pager was closed early
    finally:
        _wait(viewer)
    return True


def _wait(viewer: "subprocess.Popen[str]") -> None:
    while True:
        try:
            viewer.communicate()
        except KeyboardInterrupt:
            continue  # Ctrl-C goes to the pager, too
        except (BrokenPipeError, ValueError):
            pass
        viewer.wait()
        return
