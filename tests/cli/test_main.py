"""`lagoon` itself: messages about unknown commands and options, and the settings that Spark reads."""

import os
import re
from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from kafka_lagoon.cli import kafka_tool_hints
from kafka_lagoon.cli.arguments import Parser
from kafka_lagoon.cli.main import SPARK_SETTINGS, declaration, main, options_of
from kafka_lagoon.cli.registry import ALIASES, COMMANDS
from kafka_lagoon.cli.terminal import UsageError


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
            "--keep-hours: 'soon' is not a whole number from 0 on; see lagoon maintain --help",
        ),
        (["maintain", "--keep-hours", "-1", "--force"], "--keep-hours: '-1' is not a whole number from 0 on; see"),
        (["kafka", "transactions", "--longer-than-ms", "-1"], "--longer-than-ms: '-1' is not a whole number from 0 on"),
        (["kafka", "transactions", "--longer-than-ms", "9" * 19], f"--longer-than-ms: '{'9' * 19}' is not a whole"),
        (["kafka", "fetch", "t", "-n", "1_0"], "-n/--number: '1_0' is not a whole number; see lagoon kafka fetch"),
        (["kafka", "fetch", "t", "--last", "٣"], "--last: '٣' is not a whole number; see lagoon kafka fetch --help"),
        (["kafka", "fetch", "t:٣", "-b", "localhost:1"], "t:٣: not TOPIC or TOPIC:PARTITION,..."),
        (["kafka", "log-dirs", "--broker", "٣"], "--broker: '٣' is not a list of numbers, such as 0,1; see lagoon"),
        (["kafka", "configs", "broker", "٣", "-b", "localhost:1"], "٣: not the id of a broker"),
        (["kafka", "configs", "broker", "9" * 5_000, "-b", "localhost:1"], f"{'9' * 5_000}: not the id"),
        (["maintain", "--frob"], "unrecognized arguments: --frob; see lagoon maintain --help"),
        (
            ["lag", "--topic", "-retry"],
            "--topic: expected one argument (a value that begins with - is written --topic=VALUE); see lagoon lag --help",
        ),
        (["lag", "--topic", "--json"], "--topic: expected one argument; see lagoon lag --help"),
        (["lag", "--topic"], "--topic: expected one argument; see lagoon lag --help"),
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
    ("words", "option", "names"),
    [
        ("ingest --topics a,b --topics c", "topics", ["a", "b", "c"]),
        ("kafka lag --topic a --topic b", "topic", ["a", "b"]),
        ("kafka fetch t --fields value --fields key", "fields", ["value", "key"]),
        ("kafka log-dirs --broker 1 --broker 2,3", "broker", [1, 2, 3]),
        ("kafka health --only leaderless", "only", ["leaderless"]),  # the first replaces the default
        ("kafka health --fail leaderless --fail at_min_isr", "fail", ["leaderless", "at_min_isr"]),
        ("compare --left a --right b t --ignore headers --ignore timestamp", "ignore", ["headers", "timestamp"]),
        ("admin create-acl --operation Read --operation Write", "operation", ["Read", "Write"]),
    ],
)
def test_names_of_a_repeated_option_are_added(words: str, option: str, names: list[object]) -> None:
    """Kafka's own tools add them. The last alone would leave out topics that an ingest or a limit is to be about."""
    parts = words.split()
    name = " ".join(parts[: 2 if parts[0] in ("kafka", "admin") else 1])
    parser = Parser(name, declaration(name))
    for action in parser._actions:
        action.required = False
    options, _ = parser.parse_known_args(parts[len(name.split()) :])
    assert getattr(options, option) == names


@pytest.mark.parametrize("name", sorted(name for name, listed in COMMANDS.items() if listed.place))
def test_an_empty_name_is_refused(name: str) -> None:
    """It must not stand for another cluster, another warehouse, all records, or no group."""
    places = {"--bootstrap-servers", "--cluster", "--warehouse", "--pattern", "--where"}
    for action in Parser(name, declaration(name))._actions:  # argparse has no other list of them
        if places.intersection(action.option_strings) and name != "permissions":  # which connects to nothing
            for text in ("", " "):
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
            "unrecognized arguments: --topic (--topic of Kafka's tools: name topics without an option); see",
        ),
        ("ingest --topic a", "unrecognized arguments: --topic a (--topic of Kafka's tools: --topics A,B); see"),
        (
            "admin create-acl --topic a",
            "unrecognized arguments: --topic a (--topic of Kafka's tools: --resource-type TOPIC --resource-name NAME);",
        ),
        ("kafka fetch t --group g", "unrecognized arguments: --group g; see"),
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
def test_hints_for_users_of_kafkas_tools(command: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line names the command to type."""
    assert main(command.split()) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert printed.err.startswith(f"lagoon: {line}")


def test_what_is_suggested_exists() -> None:
    """Every suggested command exists, and no verb has the name of a tool of Kafka."""
    hints = [hint for by_argument in kafka_tool_hints._OPTIONS.values() for hint in by_argument.values()]
    for text in [*kafka_tool_hints._TOOLS.values(), *hints]:
        for command, names in re.findall(r"lagoon (kafka|admin) ([a-z]+(?:-[a-z]+)*(?:, [a-z]+(?:-[a-z]+)*)*)", text):
            suggested = {f"{command} {name}" for name in names.split(", ") if name != "with"}
            assert not suggested - {*COMMANDS, *ALIASES}, text
    assert not {"create-topic", "lag"} & kafka_tool_hints._TOOLS.keys()


_FORMS_IN_HINTS = {
    "name topics without an option": "a",
    "name groups without an option": "a",
    "partitions follow the topic: TOPIC:0,1": "a:0,1",
    "it lists without an option": "",
    "it describes without an option": "",
    "all groups are shown if none is named": "",
    "the state is shown without an option": "",
    "write the kind first: topic NAME": "topic a",
    "write the kind first: group NAME": "group a",
    "write the kind first: topic NAME, broker ID, group ID": "topic a",
    "--from earliest, which is the default without --follow": "--from earliest",
    "--kafka-properties FILE, or --set kafka.NAME=VALUE": "--kafka-properties a --set kafka.b=c",
}
_HINT = re.compile(r" \(\S+ of (?:Kafka's tools|kcat): (.+)\); see ")
_VALUE = re.compile(r"\b(?:OFFSET|N)\b")


@pytest.mark.parametrize("name", sorted(name for name, listed in COMMANDS.items() if listed.place))
def test_what_a_hint_advises_parses(name: str) -> None:
    """A command accepts what its hints advise for options of other tools."""
    command = declaration(name)
    for option in [*kafka_tool_hints._OPTIONS, *kafka_tool_hints._OPTIONS_OF_KCAT]:
        parser = Parser(name, command)
        if option in parser._option_string_actions:
            continue
        with pytest.raises(UsageError) as refused:
            parser.parse_intermixed_args([option])
        hint = _HINT.search(str(refused.value))
        if not hint or hint[1].startswith("lagoon "):
            continue
        for action in parser._actions:
            action.required = False  # the hint is about a part of the command line
        parser.parse_intermixed_args(_VALUE.sub("3", _FORMS_IN_HINTS.get(hint[1], hint[1])).split())


@pytest.mark.parametrize("argv", [[], ["kafka"]])
def test_usage(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Requested usage is printed on standard output with exit 0; without a command it is an error."""
    assert main([*argv, "--help"]) == 0
    page = capsys.readouterr()
    assert page.out.startswith(f"usage: lagoon {'kafka VERB' if argv else 'COMMAND'}")
    assert main(argv) == 2
    assert capsys.readouterr() == ("", page.out)
    assert page.err == ""


@pytest.mark.parametrize("columns", ["1", "2", "3"])
def test_help_on_the_narrowest_terminal(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A terminal of one or two columns gets the help, too; there was a traceback."""
    monkeypatch.setenv("COLUMNS", columns)
    with pytest.raises(SystemExit) as ended:
        main(["kafka", "lag", "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage: lagoon")


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
    assert conf_dir(SPARK_HOME="/" + "a" * 300) == str(
        SPARK_SETTINGS
    )  # nor can the folder of another user be looked at
    assert conf_dir(SPARK_CONF_DIR="theirs") == "theirs"
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").touch()
    assert conf_dir(SPARK_HOME=str(tmp_path)) is None


def test_a_name_that_begins_with_a_dash() -> None:
    """Kafka allows such names; after -- they are no options, for one command as for another."""
    assert options_of("kafka lag", ["--json", "--", "-g", "--json"]).group == ["-g", "--json"]
    assert options_of("admin delete-group", ["--dry-run", "--", "-g"]).groups == ["-g"]
    assert options_of("kafka fetch", ["-n", "1", "--", "-t"]).selection == "-t"
    assert options_of("kafka lag", ["g", "--json", "h"]).group == ["g", "h"]


@pytest.mark.parametrize(("name", "option"), [("kafka fetch", "--number"), ("admin reset-offsets", "--to")])
def test_two_dashes_are_no_value(name: str, option: str) -> None:
    """Python's parser made an empty list of them, which the command's checks took for a number or a text."""
    with pytest.raises(UsageError, match=f"{option}: '--' is not a value; see lagoon {name} --help"):
        options_of(name, [f"{option}=--", "t"])
    assert options_of("kafka lag", ["--", "--to=--"]).group == ["--to=--"]


def test_options_of_all_verbs_may_stand_before_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    """--warehouse is one of `lagoon admin`: its value was taken for the verb."""
    assert main(["admin", "--warehouse", "lake", "create-topic", "x", "-b", "nonsense"]) == 2
    assert "no such command" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "option"),
    [
        *((command, "--out") for command in ("sql", "report", "metrics", "plan")),
        *(("kafka lag", option) for option in ("--conf", "--kafka-properties")),
        ("snapshot", "--log-file"),
        ("admin reassign", "--file"),
        ("admin reset-offsets", "--from-file"),
    ],
)
def test_an_empty_name_of_a_file_is_refused(command: str, option: str) -> None:
    """A variable of a script may be empty: the path would be the current folder, which fails when all is done."""
    with pytest.raises(UsageError, match=f"{option}: '' is empty: give it a value"):
        options_of(command, [option, "", *(["state.toml"] if command == "plan" else [])])


@pytest.mark.parametrize("command", ["plan", "apply"])
def test_an_empty_desired_state_is_refused(command: str) -> None:
    """In the folder of a Delta table it would be that table."""
    with pytest.raises(UsageError, match="'' is empty: give it a value"):
        options_of(command, [""])
