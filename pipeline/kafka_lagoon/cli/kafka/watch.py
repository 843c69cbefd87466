"""Repeats a verb, as watch(1) does, until Ctrl-C, `--timeout` or a limit that is passed."""

import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence

from kafka_lagoon.cli.arguments import number_from
from kafka_lagoon.cli.output import CommandOutput, Ending, ending, output_blocks
from kafka_lagoon.cli.people import moment, screen
from kafka_lagoon.cli.pipes import write
from kafka_lagoon.cli.terminal import complain, put, say, takes_escapes, warn
from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.errors import ConfigError, PipelineError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.text import printable

_DAY_S = 86_400
_TO_THE_TOP, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"


@frozen
class Round:
    """The output of a verb in one round."""

    blocks: Sequence[str]
    ending: Ending


def add_watch(parser: ArgumentParser) -> None:
    """Declare `--watch`."""
    parser.add_argument(
        "--watch",
        type=number_from(1, _DAY_S),
        metavar="SECONDS",
        help="repeat every N seconds, until Ctrl-C, until --timeout, or until a limit of --fail-above is passed",
    )


def round_of(output: CommandOutput, options: Namespace) -> Round:
    """Read the whole output of a round; the next round makes a new connection."""
    blocks = [*output_blocks(output, options, screen(wide=options.wide))]
    return Round(blocks=blocks, ending=ending(output))


def watch(once: Callable[[], Round], seconds: int, clock: Clock, until: Deadline | None, *, as_json: bool) -> int:
    """Show a round every few seconds; return the exit code of the last round.

    If the cluster does not answer, a line says so, and the next round tries again. ConfigError if settings or names are wrong
    from the beginning; later a file may be missing for a moment, such as a secret that is being replaced.
    """
    has_answered = False
    while True:
        next_at = clock.monotonic() + seconds
        try:
            code, is_passed = _show(once(), clock, as_json=as_json)
            has_answered = True
        except PipelineError as error:
            if isinstance(error, ConfigError) and not has_answered:
                raise
            code, is_passed = complain(error), False
        pause = max(0.0, next_at - clock.monotonic())
        if is_passed or (until is not None and until.remaining() <= pause):
            return code
        clock.sleep(pause)


def _show(shown: Round, clock: Clock, *, as_json: bool) -> tuple[int, bool]:
    now, end = str(moment(clock.now_ms())), shown.ending
    if not as_json and takes_escapes(sys.stdout):
        _redraw([now, "", *"".join(shown.blocks).splitlines(), *map(printable, end.lines)])
        return end.exit_code, end.is_passed
    if not as_json:
        say(now)
    write(shown.blocks)
    for line in end.lines:
        warn(line)
    if not as_json:
        say("")
    return end.exit_code, end.is_passed


def _redraw(lines: Sequence[str]) -> None:
    """Overwrite the screen without clearing it first. The last line counts the lines that do not fit.

    Lines must be escaped.
    """
    height = max(1, shutil.get_terminal_size().lines - 1)
    shown = lines if len(lines) <= height else [*lines[: height - 1], f"... {len(lines) - height + 1:,} more lines"]
    put(_TO_THE_TOP + "".join(f"{line}{_CLEAR_LINE}\n" for line in shown) + _CLEAR_BELOW)
