"""`lagoon permissions`: what it prints is what the commands declare; integration/test_grants.py gives it to brokers."""

from pathlib import Path

import pytest

from kafka_lagoon.apply.desired.reading import read_desired
from kafka_lagoon.cli.main import main

HEAD = "kafka-acls.sh --bootstrap-server b:1 --add --allow-principal User:x --operation"


def printed(capsys: pytest.CaptureFixture[str], *argv: str) -> list[str]:
    assert main(["permissions", "--principal", "User:x", "-b", "b:1", *argv]) == 0
    return capsys.readouterr().out.splitlines()


def test_commands_of_kafka_acls(capsys: pytest.CaptureFixture[str]) -> None:
    """Each type of resources has a command, for all commands together; remarks are comments."""
    lines = printed(capsys, "--for", "snapshot,ingest")
    assert [line for line in lines if not line.startswith("# ")] == [
        f"{HEAD} Read --operation DescribeConfigs --topic '*'",
        f"{HEAD} Describe --group '*'",
        f"{HEAD} DescribeConfigs --group '*'",
        f"{HEAD} Describe --operation DescribeConfigs --cluster",
        f"{HEAD} Describe --transactional-id '*'",
        f"{HEAD} Describe --delegation-token '*'",
    ]
    assert lines[0] == "# For User:x: snapshot, ingest."
    assert lines[lines.index(f"{HEAD} DescribeConfigs --group '*'") - 1].startswith("# From Kafka 4.0 on, ")
    assert any(line.startswith("# ingest: A topic with DESCRIBE") for line in lines)
    assert lines[-1].startswith("# On a secured cluster add --command-config FILE: ")


def test_a_restore_into_old_brokers(capsys: pytest.CaptureFixture[str]) -> None:
    """The plan of a restore has a producer id, for which brokers before 2.8 want a permission on the cluster."""
    lines = printed(capsys, "--for", "restore")
    assert any("Brokers before 2.8 also want IDEMPOTENT_WRITE on Cluster." in line for line in lines)


def test_names(capsys: pytest.CaptureFixture[str]) -> None:
    """Topics and groups can be named, and the connection of kafka-acls.sh."""
    lines = printed(capsys, "--for", "kafka lag GROUP", "--topics", "a-*,b", "--command-config", "admin.properties")
    head = HEAD.replace(" --add", " --command-config admin.properties --add")
    assert lines[1:] == [
        f"{head} Describe --topic b",
        f"{head} Describe --topic a- --resource-pattern-type prefixed",
        f"{head} Describe --group '*'",
    ]


@pytest.mark.parametrize("form", ["toml", "yaml"])
def test_a_desired_state(capsys: pytest.CaptureFixture[str], tmp_path: Path, form: str) -> None:
    """It reads back as the same ACLs."""
    path = tmp_path / f"acls.{form}"
    path.write_text(
        "\n".join(printed(capsys, "--for", "ingest", "--topics", "a-*,b", "--cluster-id", "c1", "--format", form))
    )
    rules = read_desired(str(path), 0).acls
    assert [(rule.resource_name, rule.pattern_type, rule.operation, rule.principal) for rule in rules] == [
        ("b", "LITERAL", "READ", "User:x"),
        ("a-", "PREFIXED", "READ", "User:x"),
    ]


def test_what_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    """A command without permissions has a comment, also where they depend on a file; an unknown command and a name that is no principal are exit 2."""
    assert printed(capsys, "--for", "kafka versions") == [
        "# For User:x: kafka versions.",
        "# kafka versions needs no permission.",
    ]
    assert printed(capsys, "--for", "plan")[1].startswith("# plan: Those of `import`")
    assert main(["permissions", "--principal", "User:x", "--for", "snapshots"]) == 2
    assert capsys.readouterr().err == "lagoon: --for snapshots: no such command (did you mean snapshot?)\n"
    assert main(["permissions", "--principal", "User:x", "--for", "snapshot", "--format", "toml"]) == 2
    assert "give --cluster-id" in capsys.readouterr().err
    assert main(["permissions", "--principal", "x", "--for", "snapshot"]) == 2
    assert "'x' is not a principal like User:alice" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("lag", "this command needs no permission: leave it out"),
        ("maintain", "this command needs no permission: leave it out"),
        ("kafka configs", "write one of kafka configs topic, kafka configs topic TOPIC, kafka configs broker,"),
        ("kafka grups", "no such command (did you mean kafka groups?)"),
    ],
)
def test_a_command_without_a_row_of_its_own(command: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The line says what to write instead, and never that an existing command does not exist."""
    assert main(["permissions", "--principal", "User:x", "--for", command]) == 2
    assert capsys.readouterr().err.startswith(f"lagoon: --for {command}: {line}")
    assert main(["permissions", "--principal", "User:x", "--for", "kafka"]) == 2
    assert "did you mean kafka?" not in capsys.readouterr().err
