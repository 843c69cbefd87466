"""Writes standard output, which the reader of a pipe may close early."""

import os
import signal
import sys
from collections.abc import Callable, Iterable
from io import TextIOWrapper

from kafka_lagoon.cli.terminal import warn_of_interrupt, was_interrupted

# Exit codes that shells report for tools that SIGPIPE or SIGINT ended.
_BROKEN_PIPE, _INTERRUPTED = 128 + signal.SIGPIPE, 128 + signal.SIGINT


def piped(run: Callable[[], int]) -> int:
    """Run a command; return its exit code. If its output is closed early it ends silently, by Ctrl-C with one line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # the terminal's encoding may lack letters of a name
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


def write(blocks: Iterable[str]) -> None:
    """Write blocks of lines to standard output, and flush after each block."""
    for block in blocks:
        sys.stdout.write(block)
        sys.stdout.flush()
