"""Completion in real shells: each gets a part of a line, and returns its candidates."""

import fcntl
import os
import pty
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_lagoon.cli.completion import everything, script
from kafka_lagoon.cli.main import main
from kafka_lagoon.cli.registry import COMMANDS
from tests.tools import PROGRAMS

LINES: dict[
    str, tuple[set[str], set[str]]
] = {  # a line -> candidates that must be offered, and candidates that must not
    "lagoon ": ({"snapshot", "kafka", "completion"}, {"lag-time", "describe-group"}),
    "lagoon sn": ({"snapshot"}, {"sql"}),
    "lagoon kafka ": ({"lag", "describe-group", "topics"}, {"snapshot", "create-topic"}),
    "lagoon kafka lag --bootstrap-serv": ({"--bootstrap-servers", "--bootstrap-server"}, {"--conf"}),
    "lagoon kafka -b kafka:9092 lag --ti": ({"--time", "--timeout"}, {"--json"}),
    "lagoon admin create-topic --": ({"--yes", "--dry-run", "--partitions"}, {"--slot"}),
    "lagoon sql --engine ": ({"duckdb", "spark"}, {"--json"}),
    "lagoon snapshot --sl": ({"--slot"}, {"--until"}),
    "lagoon completion ": ({"bash", "zsh", "fish"}, {"snapshot"}),
    "lagoon path ": ({"jars", "kernels"}, {"snapshot"}),
    "lagoon snapshot --slot ": (set(), {"--conf", "--slot", "snapshot"}),
}
INSTALL = f"apt-get install {PROGRAMS['zsh']} {PROGRAMS['fish']}"


def test_every_command_has_its_options() -> None:
    """Each command and verb accepts --help and documents --conf, which shows that its parser was found."""
    parsers = {"": everything()}
    for name in COMMANDS:
        family, _, last = name.rpartition(" ")
        (commands,) = (action for action in parsers[family]._actions if action.choices)
        parsers[name] = dict(commands.choices or {})[last]
    without = [name for name, parser in parsers.items() if "--help" not in parser._option_string_actions]
    assert without == ["kafka", "admin"]
    conf = parsers["snapshot"]._option_string_actions["--conf"]
    assert str(conf.help).startswith("TOML file with settings; ")


def by_bash(path: Path, line: str) -> str:
    words = " ".join(shlex.quote(word) for word in line.split(" "))
    program = (
        f"source {path}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _shtab_lagoon; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return output(["bash", "--norc", "-c", program])


def by_fish(path: Path, line: str) -> str:
    return output(["fish", "--no-config", "-c", f"source {path}; complete -C {shlex.quote(line)}"])


def output(command: list[str]) -> str:
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) in {(0, ""), (1, "")}, run
    return run.stdout


def by_zsh(path: Path, line: str) -> str:
    """Return the terminal output after a tab: zsh completes only in its line editor."""
    process, terminal = pty.fork()
    if process == 0:
        os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "TERM": "dumb"})  # noqa: S606  words: ok, the variable of terminals
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 200, 200, 0, 0))
    path.rename(path.with_name("_lagoon"))
    ready = (
        f"fpath=({path.parent} $fpath); autoload -Uz compinit; compinit -u -D; LISTMAX=0; unsetopt list_ambiguous; "
        "PS1=is-$((1 + 1))-ready\r"
    )
    try:
        os.write(terminal, ready.encode())
        _read(terminal, until="is-2-ready")
        os.write(terminal, f"{line}\t".encode())
        return _read(terminal, until=None)
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(terminal)


def _read(terminal: int, until: str | None) -> str:
    """Read output up to a text, or until nothing was printed for two seconds."""
    shown = ""
    while select.select([terminal], [], [], 2 if until is None else 60)[0]:
        shown += os.read(terminal, 1 << 16).decode(errors="replace")
        if until and until in shown:
            break
    return shown


ASK: dict[str, Callable[[Path, str], str]] = {"bash": by_bash, "zsh": by_zsh, "fish": by_fish}


def check(shell: str, folder: Path, line: str) -> None:
    """Return a shell's candidates for a line."""
    path = folder / "script"
    path.write_text(script(shell))
    shown, typed = ASK[shell](path, line), line.rpartition(" ")[2]
    wanted, unwanted = LINES[line]
    if shell == "zsh" and len(wanted) == 1 and typed:  # a single candidate is completed at the cursor
        shown = shown.replace(typed, "").replace(min(wanted).removeprefix(typed), min(wanted))
    answers = set(re.findall(r"[-\w]+", shown))
    assert wanted <= answers
    assert not (unwanted - set(line.split())) & answers


@pytest.mark.parametrize("line", LINES)
def test_bash(tmp_path: Path, line: str) -> None:
    """Commands, verbs, options and values are completed, also options that all verbs have before the verb."""
    check("bash", tmp_path, line)


def test_files_in_bash(tmp_path: Path) -> None:
    """Names of files are completed for options that take a file."""
    path = tmp_path / "lagoon"
    path.write_text(script("bash"))
    assert by_bash(path, f"lagoon snapshot --conf {tmp_path}/la").split() == [str(path)]


@pytest.mark.proof
@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells(tmp_path: Path, shell: str, line: str) -> None:
    """As in bash, but zsh completes options before the verb only if all verbs have them."""
    if shell == "zsh" and " -b kafka:9092 " in line:
        pytest.skip("shtab's script for zsh does not find the verb after options")
    assert shutil.which(shell), f"{shell} is not installed: {INSTALL}"
    check(shell, tmp_path, line)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """It prints only the script; an unknown shell is an error of one line."""
    assert main(["completion", "tcsh"]) == 2
    assert re.match(r"lagoon: shell: invalid choice: 'tcsh'", capsys.readouterr().err)
    assert main(["completion", "bash"]) == 0
    printed = capsys.readouterr()
    assert "-F _shtab_lagoon lagoon" in printed.out
    assert printed.err == ""
