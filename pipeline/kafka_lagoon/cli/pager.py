"""Writes standard output through a pager on a terminal."""

import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping

from kafka_lagoon.cli.pipes import write


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
    # -F ends if all fits, -S cuts long lines, -X does not clear the screen. Without -R less spells the escapes of our colours
    # out, so that is added to the user's own options. The text has no other escapes, because names are escaped.
    settings = {**environ, "LESS": f"-R {environ.get('LESS', 'FSX')}"}
    viewer = subprocess.Popen(  # noqa: S602  $PAGER is the user's own
        pager,
        shell=True,
        stdin=subprocess.PIPE,
        encoding=sys.stdout.encoding,
        errors="backslashreplace",  # the terminal's encoding may lack letters of a name
        env=settings,
    )
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
