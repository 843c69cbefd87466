"""Writes standard output, which the reader of a pipe may close early."""

import os
import signal
import sys
from collections.abc import Callable, Iterable
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from kafka_lagoon.cli.terminal import FAILED, OutputFailed, put, warn, warn_of_interrupt, was_interrupted

# Exit codes that shells report for tools that SIGPIPE or SIGINT ended.
_BROKEN_PIPE, _INTERRUPTED = 128 + signal.SIGPIPE, 128 + signal.SIGINT


def open_missing_streams() -> None:
    """Open /dev/null for each standard stream that the caller has closed: a socket must not get its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  open until the process ends


def write_utf8(errors: str | None = None) -> None:
    """Encode standard output as UTF-8 in every locale, as file formats and protocols require."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors=errors or sys.stdout.errors)


def piped(run: Callable[[], int]) -> int:
    """Run a command; return its exit code. If its output is closed early it ends silently, by Ctrl-C with one line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # the terminal's encoding may lack letters of a name
    try:
        return _ended(run)
    finally:
        try:
            sys.stderr.flush()
        except OSError:  # for example a full disk: Python would end with its own exit code, 120
            _discard(sys.stderr)


def _ended(run: Callable[[], int]) -> int:
    """Run a command; return its exit code, also if it is interrupted or cannot write its output."""
    try:
        try:
            return run()
        finally:
            put("")  # flushes the help that argparse has written
    except BrokenPipeError:
        _discard(sys.stdout)
        return _BROKEN_PIPE
    except OutputFailed as error:
        _discard(sys.stdout)
        warn(f"standard output: {error}")
        return FAILED
    except BaseException as error:
        if not was_interrupted(error):
            raise
        warn_of_interrupt()
        return _INTERRUPTED


def _discard(stream: TextIO) -> None:
    """Redirect a stream to /dev/null: Python would try to write the rest of its buffer when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def write(blocks: Iterable[str]) -> None:
    """Write blocks of lines to standard output, and flush after each block."""
    for block in blocks:
        put(block)
