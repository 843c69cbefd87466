"""Parses the options that all commands share, and turns a wrong command line into one line."""

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from kafka_lagoon.cli.habits import instead_of_option
from kafka_lagoon.cli.terminal import UsageError
from kafka_lagoon.times import Moment, parse_moment

MOST_INT16, MOST_INT32, MOST_INT64 = 2**15 - 1, 2**31 - 1, 2**63 - 1
_DIGITS = re.compile(r"[0-9]{1,19}")


class Parser(argparse.ArgumentParser):
    """Arguments of `lagoon` and a command. A fault is one line, as any other is: ConfigError, and no usage before it."""

    def __init__(self, command: str, description: str) -> None:
        super().__init__(prog=f"lagoon {command}", description=description, allow_abbrev=False)
        self.register("type", int, _whole_number)  # argparse would name the type itself in its complaint
        self._given: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Called by argparse for every way of parsing; what was given is kept for the complaint about it."""
        self._given = list(args or ())
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Called by argparse for the first fault."""
        habit = instead_of_option(self._given, self._option_string_actions)
        raise UsageError([f"{message.removeprefix('argument ')}{habit}; see {self.prog} --help"])


def _whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def parser_of(command: str, description: str) -> Parser:
    """A parser with the options that every command has."""
    parser = Parser(command, description)
    add_settings_options(parser)
    parser.add_argument("--warehouse", metavar="PLACE", help="short for --set warehouse=PLACE")
    return parser


def job_parser(command: str, description: str) -> Parser:
    """A parser with the options that every job has."""
    parser = parser_of(command, description)
    parser.add_argument(
        "--log-file", type=Path, metavar="FILE", help="append the log (JSON lines) here, not on standard error"
    )
    return parser


def add_settings_options(parser: argparse.ArgumentParser) -> None:
    """Where settings come from."""
    parser.add_argument("--conf", type=Path, metavar="FILE", help="settings as TOML")
    parser.add_argument("--kafka-properties", type=Path, metavar="FILE", help="a Java client's properties file")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="one setting, e.g. kafka.client_id=night"
    )


def overrides(args: argparse.Namespace) -> list[str]:
    """Settings that the options every command has assign, as `key=value`."""
    assigned: list[str] = list(args.set)
    return [*assigned, f"warehouse={args.warehouse}"] if args.warehouse else assigned


def names(text: str) -> list[str]:
    """Comma-separated names on the command line."""
    return [name for part in text.split(",") if (name := part.strip())]


def pattern(text: str) -> re.Pattern[str]:
    """A regular expression on the command line."""
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text}: {error}") from None


def moment_argument(text: str) -> Moment:
    """A time on the command line: epoch milliseconds, or as `parse_moment` reads it."""
    if text.removeprefix("-").isdecimal():
        return Moment(epoch_ms=int(text))
    try:
        return parse_moment(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{error}, nor epoch milliseconds") from None


def number_from(lowest: int, highest: int = MOST_INT64) -> Callable[[str], int]:
    """Whole numbers from `lowest` on, as large as Kafka has them."""

    def parse(text: str) -> int:
        if not _DIGITS.fullmatch(text) or not lowest <= int(text) <= highest:
            limit = "on" if len(text) < len(str(highest)) else f"to {highest}"
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {lowest} {limit}")
        return int(text)

    return parse
