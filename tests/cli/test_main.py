"""`lagoon` itself: messages about unknown commands and options, and the settings that Spark reads."""

import os
import re
from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from kafka_lagoon.cli import habits
from kafka_lagoon.cli.arguments import Parser
from kafka_lagoon.cli.main import SPARK_SETTINGS, declaration, main
from kafka_lagoon.cli.registry import ALIASES, COMMANDS


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["ingets"], "ingets: no such command (did you mean ingest?); see lagoon --help"),
        (["frob"], "frob: no such command; see lagoon --help"),
        (["kafka", "lga"], "lga: no such command (did you mean lag?); see lagoon kafka --help"),
        (["kafka", "lag", "--frob"], "unrecognized arguments: --frob; see lagoon kafka lag --help"),
        (
            ["kafka", "metadata", "--timeout", "0"],
            "--timeout: '0' is not a number of seconds above 0, at most 2147483; see lagoon kafka",
        ),
        (["snapshot", "--frob"], "unrecognized arguments: --frob; see lagoon snapshot --help"),
        (
            ["maintain", "--keep-hours", "soon"],
            "--keep-hours: 'soon' is not a whole number; see lagoon maintain --help",
        ),
        (["maintain", "--frob"], "unrecognized arguments: --frob; see lagoon maintain --help"),
    ],
)
def test_a_wrong_word_is_one_line(argv: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line has the wrong word and the place of the help; exit 2, without a page of usage."""
    assert main(argv) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"lagoon: {line}")
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize("name", sorted(name for name, listed in COMMANDS.items() if listed.place))
def test_a_list_without_names_is_refused(name: str) -> None:
    """An empty variable of a script must not select everything, nor nothing, nor switch off a limit."""
    for action in Parser(name, declaration(name))._actions:  # argparse has no other list of them
        metavar = str(action.metavar)
        if action.option_strings and "," in metavar and ":" not in metavar:  # TOPIC:0,1 has a check of its own
            for text in ("", " , "):
                assert callable(action.type), action.option_strings
                with pytest.raises(ArgumentTypeError):
                    action.type(text)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("kafka lag reader --topic", "--topic: '' has no names: write them as A,B; see lagoon kafka lag --help"),
        ("kafka lag reader --fail-above", "--fail-above: '' has no limits: write them as NAME=LIMIT,...; see"),
        ("kafka health --fail", "--fail: '' has no names: write them as A,B; see"),
        ("health --topic", "--topic: '' has no names"),
        ("maintain --tables", "--tables: '' has no names"),
        ("ingest --pattern a --topics", "--topics: '' has no names"),
        ("compare a:t b:t --partitions", "--partitions: '' is not a list of numbers, such as 0,1; see"),
    ],
)
def test_an_empty_list_is_one_line(words: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2 with the option that has no names, before anything is connected."""
    assert main([*words.split(), ""]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(f"lagoon: {line}")
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("topics --list", "topics: no such command; type lagoon kafka topics; lagoon admin create-topic,"),
        ("admin topics", "topics: no such command; type lagoon kafka topics; lagoon admin create-topic,"),
        ("kafka consumer-groups --list", "consumer-groups: no such command; type lagoon kafka groups, describe-group,"),
        (
            "kafka kafka-console-consumer.sh",
            "kafka-console-consumer.sh: no such command; type lagoon kafka fetch TOPIC,",
        ),
        ("kafka create-topic x", "create-topic: no such command; type lagoon admin create-topic"),
        ("admin lag", "lag: no such command; type lagoon kafka lag"),
        (
            "kafka topics --list",
            "unrecognized arguments: --list (--list of Kafka's tools: it lists without an option); see",
        ),
        (
            "admin create-topic --topic X --partitions 3",
            "unrecognized arguments: --topic (--topic of Kafka's tools: topics stand without an option); see",
        ),
        (
            "kafka fetch t --from-beginning",
            "unrecognized arguments: --from-beginning (--from-beginning of Kafka's tools: --from e",
        ),
        (
            "admin alter-configs topic t --add-config a=b",
            "unrecognized arguments: --add-config a=b (--add-config of Kafka's",
        ),
        (
            "kafka lag -X security.protocol=SSL",
            "unrecognized arguments: -X (-X of kcat: --kafka-properties FILE, or",
        ),
    ],
)
def test_habits_of_kafkas_tools(command: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line names the command to type."""
    assert main(command.split()) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert printed.err.startswith(f"lagoon: {line}")


def test_what_is_suggested_exists() -> None:
    """Every suggested command exists, and no verb has the name of a tool of Kafka."""
    for text in [*habits._TOOLS.values(), *habits._OPTIONS.values()]:
        for command, names in re.findall(r"lagoon (kafka|admin) ([a-z]+(?:-[a-z]+)*(?:, [a-z]+(?:-[a-z]+)*)*)", text):
            suggested = {f"{command} {name}" for name in names.split(", ") if name != "with"}
            assert not suggested - {*COMMANDS, *ALIASES}, text
    assert not {"create-topic", "lag"} & habits._TOOLS.keys()


@pytest.mark.parametrize("argv", [[], ["kafka"]])
def test_usage(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Requested usage is printed on standard output with exit 0; without a command it is an error."""
    assert main([*argv, "--help"]) == 0
    page = capsys.readouterr()
    assert page.out.startswith(f"usage: lagoon {'kafka VERB' if argv else 'COMMAND'}")
    assert main(argv) == 2
    assert capsys.readouterr() == ("", page.out)
    assert page.err == ""


def test_which_settings_spark_reads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Spark reads the settings of the package, unless the user has named a folder or SPARK_HOME has settings."""

    def conf_dir(**environ: str) -> str | None:
        with monkeypatch.context() as patch:
            for name in ("SPARK_CONF_DIR", "SPARK_HOME"):
                patch.setenv(name, "")  # so that monkeypatch restores it
                patch.delenv(name)
            for name, value in environ.items():
                patch.setenv(name, value)
            assert main(["path", "nowhere"]) == 2
            return os.environ.get("SPARK_CONF_DIR")

    assert conf_dir() == str(SPARK_SETTINGS)
    assert (SPARK_SETTINGS / "spark-defaults.conf").is_file()
    assert conf_dir(SPARK_HOME=str(tmp_path)) == str(SPARK_SETTINGS)
    assert conf_dir(SPARK_CONF_DIR="theirs") == "theirs"
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").touch()
    assert conf_dir(SPARK_HOME=str(tmp_path)) is None
