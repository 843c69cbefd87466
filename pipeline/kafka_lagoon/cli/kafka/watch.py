"""Shows the answer of a verb again and again, as watch(1) does, until Ctrl-C, `--timeout` or a threshold that is passed."""

import argparse
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from kafka_lagoon.cli.arguments import number_from
from kafka_lagoon.cli.kafka.output import answer_lines, exit_code, warning_lines
from kafka_lagoon.cli.kafka.verb import Answer
from kafka_lagoon.cli.people import moment
from kafka_lagoon.cli.terminal import COMPLETE, complain, say, say_exactly, warn
from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.errors import PipelineError

_TO_THE_TOP, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What a verb showed once; `is_passed` is whether a threshold was passed."""

    lines: Sequence[str]
    warnings: Sequence[str]
    code: int
    is_passed: bool


def add_watch(parser: argparse.ArgumentParser) -> None:
    """Declare `--watch`, which cli/kafka/run.py heeds."""
    parser.add_argument(
        "--watch",
        type=number_from(1),
        metavar="SECONDS",
        help="ask again every so many seconds, until Ctrl-C, --timeout, or what --fail-above names is passed",
    )


def round_of(answer: Answer, options: argparse.Namespace) -> Round:
    """The whole of an answer: the next one is of a new connection."""
    return Round(
        lines=[*answer_lines(answer, as_json=options.json, wide=options.wide)],
        warnings=[*warning_lines(answer)],
        code=exit_code(answer),
        is_passed=answer.exit_code != COMPLETE,
    )


def watch(
    once: Callable[[], Round], seconds: int, clock: Clock, until: Deadline | None, options: argparse.Namespace
) -> int:
    """Show what `once` returns every so many seconds; the exit code of the last time.

    A cluster that does not answer is a line, and is asked again.
    """
    while True:
        next_at = clock.monotonic() + seconds
        code, is_passed = _show(once, clock, as_json=options.json)
        pause = max(0.0, next_at - clock.monotonic())
        if is_passed or (until is not None and until.remaining() <= pause):
            return code
        clock.sleep(pause)


def _show(once: Callable[[], Round], clock: Clock, *, as_json: bool) -> tuple[int, bool]:
    try:
        shown = once()
    except PipelineError as error:
        return complain(error), False
    if as_json:
        _print(shown)
    elif sys.stdout.isatty():
        _redraw([str(moment(clock.now_ms())), "", *shown.lines, *shown.warnings])
    else:
        say(str(moment(clock.now_ms())))
        _print(shown)
        say("")
    return shown.code, shown.is_passed


def _print(shown: Round) -> None:
    for line in shown.lines:
        say_exactly(line)
    for line in shown.warnings:
        warn(line)


def _redraw(lines: Iterable[str]) -> None:
    """Over what was there, without a moment of nothing; what is longer than the terminal is not shown."""
    height = shutil.get_terminal_size().lines - 1
    every = list(lines)
    shown = every if len(every) <= height else [*every[: height - 1], f"... {len(every) - height + 1:,} more lines"]
    sys.stdout.write(_TO_THE_TOP + "".join(f"{line}{_CLEAR_LINE}\n" for line in shown) + _CLEAR_BELOW)
    sys.stdout.flush()
