"""Writes standard output: to a pipe that may be closed early, or through a pager on a terminal."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from io import TextIOWrapper

# How a shell reports tools that a closed pipe or Ctrl-C ended.
_BROKEN_PIPE, _INTERRUPTED = 128 + signal.SIGPIPE, 128 + signal.SIGINT


def piped(run: Callable[[], int]) -> int:
    """Run a command whose output may be closed early, or which Ctrl-C ends; the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal may lack letters of a name
    try:
        return run()
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # What is left in the buffer must not be tried again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE


def write(blocks: Iterable[str]) -> None:
    """Write blocks of lines to standard output, each as soon as it is there."""
    for block in blocks:
        sys.stdout.write(block)
        sys.stdout.flush()


def write_in_pager(blocks: Iterable[str], environ: Mapping[str, str]) -> None:
    """Blocks of lines: on the terminal if they fit, else through PAGER, as git does (`less`; none if it is empty or cat)."""
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
    """Write the blocks to a pager; False if there is no such program."""
    if not shutil.which(pager.split(maxsplit=1)[0]):
        return False
    settings = {"LESS": "FSX", **environ}  # ends if all fits, cuts long lines, leaves the screen as it is
    viewer = subprocess.Popen(pager, shell=True, stdin=subprocess.PIPE, text=True, env=settings)  # noqa: S602  the user's own
    assert viewer.stdin  # noqa: S101
    try:
        viewer.stdin.write(shown)
        for block in others:
            viewer.stdin.write(block)
        viewer.stdin.close()
    except (BrokenPipeError, KeyboardInterrupt):
        pass  # whoever reads has seen enough
    finally:
        _wait(viewer)
    return True


def _wait(viewer: "subprocess.Popen[str]") -> None:
    while True:
        try:
            viewer.communicate()
        except KeyboardInterrupt:
            continue  # Ctrl-C is the pager's, too
        except (BrokenPipeError, ValueError):
            pass
        viewer.wait()
        return
