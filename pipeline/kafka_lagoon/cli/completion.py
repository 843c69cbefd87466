"""Runs `lagoon completion SHELL`: prints a script by which bash, zsh or fish completes commands, verbs, options and values.

Commands make their parser where they parse, so each is run with --help, and its parser is taken instead of its help: the
options are those that it accepts, whatever module declares them.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import NoReturn

from kafka_lagoon.cli import completion_scripts
from kafka_lagoon.cli.arguments import Parser
from kafka_lagoon.cli.completion_scripts import Option, Place
from kafka_lagoon.cli.terminal import COMPLETE, say_exactly

SHELLS = {"bash": completion_scripts.bash, "zsh": completion_scripts.zsh, "fish": completion_scripts.fish}
_FILES = frozenset({"FILE", "FOLDER", "PLACE"})
_EPILOG = """\
bash   lagoon completion bash > ~/.local/share/bash-completion/completions/lagoon
zsh    lagoon completion zsh > "${fpath[1]}/_lagoon"
fish   lagoon completion fish > ~/.config/fish/completions/lagoon.fish

It takes some seconds, so keep its output in a file, and make the file again with a new version.
"""

Run = Callable[[Sequence[str]], int]


class _ParserTaken(Exception):
    """A command was about to print its help."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        super().__init__(parser)
        self.parser = parser


def run(argv: Sequence[str], commands: Mapping[str, tuple[str, Run]]) -> int:
    """Print the script for a shell; `commands` has the summary and the function of each."""
    parser = Parser("completion", "A script that completes commands, options and values in your shell.")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("shell", choices=SHELLS)
    say_exactly(SHELLS[parser.parse_args(argv).shell](list(places(commands))))
    return COMPLETE


def places(commands: Mapping[str, tuple[str, Run]]) -> Iterator[Place]:
    """Every place of the command line where something can be completed: the top, each command and each verb."""
    summaries = {name: summary for name, (summary, _) in commands.items()}
    yield Place((), summaries, [Option(("--help", "--version"), "", takes_value=False)])
    verbs_of = {"kafka": _verbs_of_kafka(), "admin": _verbs_of_admin()}
    for name, (_, command) in commands.items():
        verbs = verbs_of.get(name, {})
        if not verbs:
            yield _place((name,), command)
            continue
        yield Place((name,), verbs, [])
        for verb in verbs:
            yield _place((name, verb), lambda argv, command=command, verb=verb: command([verb, *argv]))  # type: ignore[misc]


def _verbs_of_kafka() -> dict[str, str]:
    from kafka_lagoon.cli.kafka.run import ALIASES, VERBS  # noqa: PLC0415

    return {**VERBS, **{name: f"short for {' '.join(words)}" for name, words in ALIASES.items()}}


def _verbs_of_admin() -> dict[str, str]:
    from kafka_lagoon.cli.admin.run import DESCRIBING, VERBS  # noqa: PLC0415

    listed = {name: verb.summary for name, verb in VERBS.items()}
    return {**listed, **{name: f"as lagoon kafka {words[0]}" for name, words in DESCRIBING.items()}}


def _place(words: tuple[str, ...], command: Run) -> Place:
    """The options and the words that a command takes; none if a package is missing that it imports."""
    with suppress(ImportError), _taking_parsers():
        try:
            command(["--help"])
        except _ParserTaken as taken:
            actions = [action for action in taken.parser._actions if action.help != argparse.SUPPRESS]  # noqa: SLF001
            options = [_option(action) for action in actions if action.option_strings]
            return Place(words, _choices(action for action in actions if not action.option_strings), options)
    return Place(words, {}, [])


@contextmanager
def _taking_parsers() -> Iterator[None]:
    def take(parser: argparse.ArgumentParser, _: object = None) -> NoReturn:
        raise _ParserTaken(parser)

    before = Parser.print_help
    Parser.print_help = take  # type: ignore[assignment]
    try:
        yield
    finally:
        Parser.print_help = before  # type: ignore[method-assign]


def _option(action: argparse.Action) -> Option:
    return Option(
        names=tuple(action.option_strings),
        summary=action.help or "",
        takes_value=action.nargs != 0,
        values=tuple(map(str, action.choices or ())),
        is_file=action.metavar in _FILES,
    )


def _choices(actions: Iterator[argparse.Action]) -> dict[str, str]:
    return {str(value): "" for action in actions for value in action.choices or ()}
