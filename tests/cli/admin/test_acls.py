"""Arguments of the verbs about ACLs; tests on real brokers are in integration/test_admin_security.py."""

import pytest

from kafka_lagoon.cli.main import main, options_of
from kafka_lagoon.cli.terminal import UsageError
from tests.admin.conftest import altering_apis
from tests.cli.admin.faults import faults
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeCluster

__all__ = ["altering_apis"]  # a fixture of tests/admin

GOOD = ("--principal", "User:a", "--operation", "read", "--resource-type", "topic", "--resource-name", "orders")


def test_all_faults_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    """A principal without a type, and names that only filters can have, are reported together."""
    wrong = ("--principal", "alice", "--operation", "read,any", "--pattern-type", "match", "--permission", "maybe")
    lines = faults(capsys, "create-acl", *wrong, "--resource-type", "planet")
    assert [line.partition(";")[0] for line in lines] == [
        "--resource-type: 'planet'",
        "--pattern-type: 'match'",
        "--permission: 'maybe'",
        "--operation: 'any'",
        "--principal: 'alice' is not a principal like User:alice",
        "--resource-name: name at least one resource",
    ]


def test_what_is_left_out_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """An ACL needs a principal, a resource and an operation."""
    lines = faults(capsys, "create-acl")
    assert [line.partition(":")[0] for line in lines] == [
        "--resource-type",
        "--principal",
        "--operation",
        "--resource-name",
    ]


@pytest.mark.parametrize("option", ["--host", "--resource-name"])
def test_an_empty_name_is_refused(capsys: pytest.CaptureFixture[str], option: str) -> None:
    """Brokers accept an empty host: with an empty variable of a script a DENY would deny nothing."""
    (line,) = faults(capsys, "create-acl", *GOOD, option, "")
    assert line.startswith(f"{option}: ")


def test_the_cluster_has_one_name(capsys: pytest.CaptureFixture[str]) -> None:
    """Brokers would refuse other names of the cluster."""
    (line,) = faults(capsys, "create-acl", *GOOD[:4], "--resource-type", "cluster", "--resource-name", "x")
    assert "kafka-cluster" in line


@pytest.mark.parametrize("arguments", [(), ("--all", "--principal", "User:a")])
def test_a_deletion_says_what_it_is_about(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    """A deletion needs a filter or --all, and not both."""
    (line,) = faults(capsys, "delete-acl", *arguments)
    assert "--all alone" in line


@pytest.mark.parametrize("verb", ["admin delete-acl", "kafka acls"])
def test_a_filter_that_no_acl_can_match(verb: str) -> None:
    """Both said that there is no ACL, with exit code 0, for a user without its type and for an empty variable of a script."""
    with pytest.raises(UsageError, match="--principal: 'alice' is not a principal like User:alice"):
        options_of(verb, ["--principal", "alice"])
    with pytest.raises(UsageError, match="--resource-name: '' is empty"):
        options_of(verb, ["--resource-name", ""])


def test_a_filter_for_what_kafka_accepts() -> None:
    """Kafka has ACLs for a user or a host with an empty name: they can be found, and deleted."""
    options = options_of("kafka acls", ["--principal", "User:", "--host", ""])
    assert (options.principal, options.host) == ("User:", "")


@pytest.mark.usefixtures("altering_apis")
def test_only_what_is_missing_is_created_and_what_matches_deleted(
    state: FakeCluster, brokers: dict[int, FakeBroker], capsys: pytest.CaptureFixture[str]
) -> None:
    """ACLs that are there are counted; without an authorizer it is a failure to look for them, and not an empty list."""
    server = ["-b", f"127.0.0.1:{next(iter(brokers.values())).server_address[1]}", "--yes"]
    create = ["admin", "create-acl", *GOOD, *server]
    delete = ["admin", "delete-acl", "--allow-deletions", *server]
    assert (main(create), main([*delete, "--all"])) == (1, 1)
    assert capsys.readouterr().err.count("the brokers have no authorizer") == 2
    state.acls = ()
    assert main(create) == 0
    capsys.readouterr()
    assert main([*create, "--operation", "read,write"]) == 0
    shown = capsys.readouterr()
    assert "1 of 2 ACLs are there already" in shown.err
    assert "1 done" in shown.out.splitlines()[-1]
    assert main([*delete, "--all"]) == 0
    shown = capsys.readouterr()
    assert "no ACL matches" not in shown.err
    assert "2 done" in shown.out.splitlines()[-1]
    assert main([*delete, "--all"]) == 0
    assert "no ACL matches" in capsys.readouterr().err
