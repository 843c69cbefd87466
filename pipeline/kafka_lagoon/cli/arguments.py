"""Parses command lines: the parser of a command, the options that several commands share, and types of values."""

import argparse
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from kafka_lagoon.cli.kafka_tool_hints import instead_of_option
from kafka_lagoon.cli.permissions import permissions_line
from kafka_lagoon.cli.terminal import UsageError
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.integers import MOST_INT64
from kafka_lagoon.patterns import compile_pattern
from kafka_lagoon.times import FarTimeError, Moment, epoch_moment, parse_moment, parse_time_ms

if TYPE_CHECKING:
    from kafka_lagoon.cli.command import Command

DUCKDB, SPARK = ENGINES = ("duckdb", "spark")
_DIGITS = re.compile(r"[0-9]{1,19}")
_WHOLE = re.compile(r"[-+]?[0-9]{1,19}")  # int() takes digits of all scripts, and 1_000
_EPOCH_MS = re.compile(r"-?[0-9]+")
_NARROWEST = 11  # columns, as argparse has it for the help of options
_MOST_DIGITS = 20  # times with more digits are outside of the calendar, and Python refuses to parse thousands of digits


class _Stored(argparse.Action):
    """Stores a value. If an option of several names is given again, its names are added, as Kafka's own tools add them."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002  as argparse calls it
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        before = getattr(namespace, self.dest, self.default)
        is_added = option_string and isinstance(values, list) and before is not self.default
        setattr(namespace, self.dest, [*before, *values] if is_added else values)


class Parser(argparse.ArgumentParser):
    """The parser of a command. It raises ConfigError for a fault, where argparse would print the usage, too."""

    def __init__(self, name: str, command: "Command[Any]") -> None:
        super().__init__(
            prog=f"lagoon {name}", formatter_class=_unformatted, usage=argparse.SUPPRESS, allow_abbrev=False
        )
        self._name, self._command = name, command
        self.register("action", None, _Stored)
        self.register("type", int, _whole_number)  # argparse would name the Python type in its message
        self._given: Sequence[str] = ()
        command.kind.declare(self)
        command.declare(self)

    def prepare_help(self) -> None:
        """Describe the command and its usage, which would take longer than parsing, for --help."""
        from shutil import get_terminal_size  # noqa: PLC0415  for help alone
        from textwrap import fill  # noqa: PLC0415

        command = self._command
        needed = f" Required permissions: {permissions_line(self._name, command.requires)}." if command.requires else ""
        width = max(get_terminal_size().columns - 2, _NARROWEST)
        self.description = fill(f"{command.summary}{needed}", width=width)
        examples = "\n".join(["examples:", *(f"  {example}" for example in command.examples)])
        self.epilog = f"{command.epilog}\n{examples}" if command.epilog else examples
        self.formatter_class, self.usage = argparse.RawDescriptionHelpFormatter, None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Keep the arguments for `error`. All parsing methods of argparse call this one."""
        self._given = list(args or ())
        for word in takewhile("--".__ne__, self._given):
            option, _, value = word.partition("=")
            # Python before 3.13 would make an empty list of it, whatever the type of the option.
            if value == "--" and option.startswith("--"):
                self.error(f"argument {option}: '--' is not a value")
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Raise a UsageError for the first fault. Called by argparse."""
        hint = instead_of_option(self._given, self._actions) or self._dashed_value(message)
        raise UsageError([f"{message.removeprefix('argument ')}{hint}; see {self.prog} --help"])

    def _dashed_value(self, message: str) -> str:
        """A hint if an option lacks its value because that begins with a dash, as names in Kafka may; else empty."""
        names, _, fault = message.removeprefix("argument ").partition(": ")
        if fault != "expected one argument":
            return ""
        for word, following in pairwise(self._given):
            if word in names.split("/") and following.startswith("-") and following not in self._option_string_actions:
                return f" (a value that begins with - is written {word}=VALUE)"
        return ""


def _unformatted(prog: str) -> argparse.HelpFormatter:
    """Make the formatter by which argparse checks each option; without a width it would ask for the terminal's each time."""
    return argparse.HelpFormatter(prog, width=80)


def parse(command: "Command[Any]", name: str, argv: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments of a command. UsageError names argparse's first fault, ConfigError all faults of its own check."""
    parser = Parser(name, command)
    if any(word.startswith("-") and "h" in word for word in argv):
        parser.prepare_help()
    # Names after -- may begin with a dash; argparse takes them for options where options stand among names.
    options = parser.parse_args(argv) if "--" in argv else parser.parse_intermixed_args(argv)
    if getattr(options, "warehouse", None):
        options.set = [*options.set, f"warehouse={options.warehouse}"]
    if getattr(options, "create", False):
        options.set = [*options.set, "create=true"]
    if problems := [*command.check(options), *command.kind.check(options)]:
        raise ConfigError(problems)
    return options


def _whole_number(text: str) -> int:
    if _WHOLE.fullmatch(text):
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")


def add_settings_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options that name settings."""
    parser.add_argument(
        "--conf",
        type=file_path,
        metavar="FILE",
        help="TOML file with settings; default: the file that LAGOON_CONF names, else ./lagoon.toml if it exists",
    )
    parser.add_argument("--kafka-properties", type=file_path, metavar="FILE", help="properties file of a Java client")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="set one setting, e.g. kafka.client_id=night"
    )


def add_warehouse(parser: argparse.ArgumentParser) -> None:
    """Declare the option that names the location of the tables."""
    parser.add_argument("--warehouse", type=not_empty, metavar="PLACE", help="short for --set warehouse=PLACE")


def add_create(parser: argparse.ArgumentParser) -> None:
    """Declare the option that allows a run to create the warehouse."""
    parser.add_argument("--create", action="store_true", help="create the warehouse if it does not exist")


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of commands that read tables with DuckDB or Spark."""
    add_settings_options(parser)
    add_warehouse(parser)
    add_engine(parser)


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Declare the option that names the engine."""
    parser.add_argument("--engine", choices=ENGINES, help="default: duckdb for a folder of this machine, else spark")


def add_flags(parser: argparse.ArgumentParser, meanings: Mapping[str, str]) -> None:
    """Declare options without a value, by their names and meanings."""
    for name, meaning in meanings.items():
        parser.add_argument(name, action="store_true", help=meaning)


def split_names(text: str) -> list[str]:
    """Split names that are separated by commas; blanks around them are not part of them."""
    return [name for part in text.split(",") if (name := part.strip())]


def not_empty(text: str) -> str:
    """Refuse an empty text: an empty variable of a script must not mean the default."""
    if text.strip():
        return text
    raise argparse.ArgumentTypeError(f"{text!r} is empty: give it a value, or leave the option out")


def file_path(text: str) -> Path:
    """Parse the path of a file; refuse an empty one, which would be the current folder."""
    return Path(not_empty(text))


def names(text: str) -> list[str]:
    """Parse names that are separated by commas. A text without names is refused: a script's variable may be empty."""
    if listed := split_names(text):
        return listed
    raise argparse.ArgumentTypeError(f"{text!r} has no names: write them as A,B")


def names_among(known: Collection[str], elsewhere: Mapping[str, Collection[str]] = {}) -> Callable[[str], list[str]]:
    """Parse names that are separated by commas; each must be in a list, in upper or lower case.

    `elsewhere` has the names that other options take: the line that refuses such a name says so.
    """
    spelled = {name.lower(): name for name in known}
    options = {name.lower(): option for option, others in elsewhere.items() for name in others}

    def parse_names(text: str) -> list[str]:
        given = names(text)
        if unknown := [name for name in given if name.lower() not in spelled]:
            hints = [f"; {options[name.lower()]} takes {name}" for name in unknown if name.lower() in options]
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: there are {', '.join(known)}{''.join(hints)}")
        return [spelled[name.lower()] for name in given]

    return parse_names


def ids(text: str) -> list[int]:
    """Parse numbers of brokers or partitions that are separated by commas."""
    given = split_names(text)
    if not given or not all(map(_DIGITS.fullmatch, given)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers, such as 0,1")
    return [int(part) for part in given]


def pattern(text: str) -> re.Pattern[str]:
    """Parse a regular expression. An empty one is refused: it matches no name."""
    try:
        return compile_pattern(not_empty(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def moment_argument(text: str) -> Moment:
    """Parse a time: epoch milliseconds, or as `parse_moment` reads it."""
    try:
        return epoch_moment(text, int(text[:_MOST_DIGITS])) if _EPOCH_MS.fullmatch(text) else parse_moment(text)
    except FarTimeError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{error}, nor epoch milliseconds") from None


def parsed_time(option: str, text: str | None, now_ms: int, problems: list[str]) -> int | None:
    """Parse a time to epoch milliseconds. None for no text, and for a wrong one, which is added to the problems.

    Times of one command are relative to one `now_ms`: two that are written alike are equal.
    """
    try:
        return None if text is None else parse_time_ms(text, now_ms)
    except ValueError as error:
        problems.append(f"{option}: {error}")
        return None


def number_from(lowest: int, highest: int = MOST_INT64) -> Callable[[str], int]:
    """Parse whole numbers from `lowest` to `highest`, by default the largest int64."""

    def parse_number(text: str) -> int:
        if not _DIGITS.fullmatch(text) or not lowest <= int(text) <= highest:
            limit = "on" if len(text) < len(str(highest)) else f"to {highest}"
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {lowest} {limit}")
        return int(text)

    return parse_number
