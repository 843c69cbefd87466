"""Runs `lagoon completion SHELL`: prints a script by which bash, zsh or fish completes commands, verbs, options and values.

shtab writes it from one parser of all commands.
"""

import re
from argparse import ArgumentParser
from contextlib import suppress

import shtab

from kafka_lagoon.cli.arguments import Parser
from kafka_lagoon.cli.clusters import add_cluster_options
from kafka_lagoon.cli.command import PLAIN, Command, Invocation
from kafka_lagoon.cli.main import declaration
from kafka_lagoon.cli.registry import ALIASES, COMMANDS
from kafka_lagoon.cli.terminal import COMPLETE, say_exactly

SHELLS = ("bash", "zsh", "fish")
_FILES = frozenset({"FILE", "FOLDER", "PLACE"})
_EPILOG = """\
The command takes a few seconds, so keep its output in a file, and write the file again after an upgrade.
"""


def _declare(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="shell to write the script for")


def _print(call: Invocation) -> int:
    say_exactly(script(call.options.shell))
    return COMPLETE


def script(shell: str) -> str:
    """Make the completion script of a shell."""
    text = shtab.complete(everything(), shell)
    # Without -A zsh completes only the options of `lagoon kafka` after a verb, and not the verb's own.
    return re.sub(r"_arguments -C -s (\$_shtab_lagoon_(?:kafka|admin)_options\n)", r"_arguments -A '-*' -C -s \1", text)


def everything() -> ArgumentParser:
    """Make a parser of every command and verb; a command whose packages are missing has no options."""
    top = ArgumentParser("lagoon")
    top.add_argument("--version", action="store_true", help="print the version")
    families = {"": top.add_subparsers()}
    for name, listed in COMMANDS.items():
        family, _, last = name.rpartition(" ")
        parser = families[family].add_parser(last, help=listed.summary, add_help=False)
        if not listed.place:
            add_cluster_options(parser)  # options that all verbs have may stand before the verb
            families[name] = parser.add_subparsers()
        else:
            _add_options(parser, name)
    for name, words in ALIASES.items():
        family, _, last = name.rpartition(" ")
        parser = families[family].add_parser(last, help=f"short for lagoon {words}", add_help=False)
        _add_options(parser, " ".join(words.split()[:2]))
    return top


def _add_options(parser: ArgumentParser, name: str) -> None:
    """Add the options of a command, and complete the names of files where an option takes them."""
    with suppress(ImportError):
        for action in Parser(name, declaration(name))._actions:  # noqa: SLF001  argparse has no other list of them
            if action.metavar in _FILES:
                action.complete = shtab.FILE  # type: ignore[attr-defined]  # as shtab documents it
            parser._add_action(action)  # noqa: SLF001


COMMAND = Command(
    kind=PLAIN,
    summary="Prints a script that completes commands, options and values in a shell.",
    epilog=_EPILOG,
    examples=(
        "lagoon completion bash > ~/.local/share/bash-completion/completions/lagoon",
        'lagoon completion zsh > "${fpath[1]}/_lagoon"',
        "lagoon completion fish > ~/.config/fish/completions/lagoon.fish",
    ),
    declare=_declare,
    answer=_print,
)
