"""Completion by real shells: each is given a line, and says what may follow."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from kafka_lagoon.cli.completion import places
from kafka_lagoon.cli.completion_scripts import Place, bash, fish, zsh
from kafka_lagoon.cli.main import COMMANDS, main

LINES: dict[str, tuple[set[str], set[str]]] = {  # a line -> what must follow, and what must not
    "lagoon ": ({"snapshot", "kafka", "completion", "--version"}, {"lag-time", "describe-group"}),
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
INSTALL = "apt-get install zsh fish"


@pytest.fixture(scope="module")
def listed() -> list[Place]:
    return list(places({name: (command.summary, command.run) for name, command in COMMANDS.items()}))


def test_every_command_has_its_options(listed: list[Place]) -> None:
    """Each command and verb accepts --help, so a place without options is one whose parser was not found."""
    by_name = {place.name: place for place in listed}
    assert set(by_name[""].words) == set(COMMANDS)
    assert [place.name for place in listed if not place.options] == ["kafka", "admin"]
    assert len(listed) > 40
    conf = next(option for option in by_name["snapshot"].options if "--conf" in option.names)
    assert conf.is_file
    assert conf.summary == "settings as TOML"


def by_bash(script: Path, line: str) -> list[str]:
    words = " ".join(shlex.quote(word) for word in line.split(" "))
    program = (
        f"source {script}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _lagoon; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return output(["bash", "--norc", "-c", program])


def by_zsh(script: Path, line: str) -> list[str]:
    """What it gives to zsh's functions, which choose by what is typed."""
    words = " ".join(shlex.quote(word) for word in line.split(" "))
    typed = line.rsplit(" ", maxsplit=1)[-1]
    program = (
        "compdef() { }; _message() { }; _files() { print -l *(N) }; compadd() { shift; print -l -- $@ }\n"
        "_describe() { print -l -- ${choices%%:*} }\n"
        f"source {script}; words=({words}); CURRENT=${{#words}}; _lagoon"
    )
    return [word for word in output(["zsh", "-f", "-c", program]) if word.startswith(typed)]


def by_fish(script: Path, line: str) -> list[str]:
    """fish lists options where a dash is typed, in one of their forms."""
    lines = output(["fish", "--no-config", "-c", f"source {script}; complete -C {shlex.quote(line)}"])
    return [one.partition("\t")[0] for one in lines]


def output(command: list[str]) -> list[str]:
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) in {(0, ""), (1, "")}, run
    return run.stdout.split("\n")


@pytest.mark.parametrize("line", LINES)
def test_bash(listed: list[Place], tmp_path: Path, line: str) -> None:
    """Commands, verbs, options and values, with options of all verbs before the verb."""
    script = tmp_path / "lagoon"
    script.write_text(bash(listed))
    answers = set(by_bash(script, line))
    wanted, unwanted = LINES[line]
    assert wanted <= answers
    assert not unwanted & answers


def test_files_in_bash(listed: list[Place], tmp_path: Path) -> None:
    """Where an option takes one; none where its value is something else."""
    script = tmp_path / "lagoon"
    script.write_text(bash(listed))
    assert by_bash(script, f"lagoon snapshot --conf {tmp_path}/la")[0] == str(script)


@pytest.mark.proof
@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells(listed: list[Place], tmp_path: Path, shell: str, line: str) -> None:
    """As in bash."""
    assert shutil.which(shell), f"{shell} is not installed: {INSTALL}"
    make, ask = {"zsh": (zsh, by_zsh), "fish": (fish, by_fish)}[shell]
    script = tmp_path / "lagoon"
    script.write_text(make(listed))
    answers = set(ask(script, line))
    wanted, unwanted = LINES[line]
    with_dash = {
        word for word in wanted if word.startswith("-") and not line.rsplit(" ", maxsplit=1)[-1].startswith("-")
    }
    assert wanted - (with_dash if shell == "fish" else set()) <= answers
    assert not unwanted & answers


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """It prints the script and nothing else; another shell is one line."""
    assert main(["completion", "tcsh"]) == 2
    assert re.match(r"lagoon: shell: invalid choice: 'tcsh'", capsys.readouterr().err)
    assert main(["completion", "bash"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("# bash completion for lagoon")
    assert printed.err == ""
