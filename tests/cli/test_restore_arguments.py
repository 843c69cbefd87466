"""The command line of `lagoon restore`: every fault is listed before any request to a cluster or a table."""

import pytest

from kafka_lagoon.cli.main import options_of
from kafka_lagoon.cli.restore_arguments import RestoreArguments, restore_arguments
from kafka_lagoon.errors import ConfigError
from tests.clock import CLOCK

PLACES = ["--warehouse", "/lake", "--set", "create=true", "--set", "clusters.spare.bootstrap_servers=localhost:1"]
BASE = [*PLACES, "--yes", "--from-cluster", "prod", "--to-cluster", "spare", "--topics", "a,b.c"]


def arguments(argv: list[str]) -> RestoreArguments:
    return restore_arguments(options_of("restore", argv), {}, CLOCK)


def test_what_is_asked_for() -> None:
    """Options become the request; the condition has the columns of the tables."""
    argv = ["--partitions", "a:1,0", "--partitions", "a:3", "--rename", "b.c=new", "--where", "offset > 5"]
    argv += ["--until", "1970-01-02", "--topic-id", "a=x", "--replication-factor", "2", "--with-offsets"]
    request = arguments([*BASE, *argv]).request
    assert (request.topics, request.partitions) == (("a", "b.c"), {"a": (0, 1, 3)})
    assert (request.target_of("a"), request.target_of("b.c")) == ("a", "new")
    assert request.condition == '(timestamp_ms < 86400000) AND ("offset" > 5)'
    assert (request.topic_ids, request.replication_factor, request.with_offsets) == ({"a": "x"}, 2, True)


def test_a_run_goes_on_with_what_chooses_records() -> None:
    """Options that do not select records may change from run to run."""
    plain = arguments(BASE).request
    more = ["--with-offsets", "--accept-changes", "--dry-run", "--into-existing"]
    assert arguments([*BASE, *more]).request.identity() == plain.identity()
    other = arguments([*BASE, "--where", "partition = 1"]).request
    assert other.identity() != plain.identity()


def test_all_faults_at_once() -> None:
    """Each fault names its option."""
    argv = [*PLACES, "--yes", "--from-cluster", "prod", "--to-cluster", "spar", "--topics", "a,b"]
    argv += [
        "--partitions",
        "a",
        "--partitions",
        "a:" + "9" * 5000,
        "--partitions",
        "a:٣",
        "--partitions",
        "c:1",
        "--rename",
        "a=b",
        "--rename",
        "x",
        "--rename",
        "d=e",
    ]
    argv += ["--where", "random() > 1", "--until", "soon", "--at", "never", "--topic-id", "a=1", "--topic-id", "a=2"]
    with pytest.raises(ConfigError) as raised:
        arguments(argv)
    options = [fault.partition(":")[0] for fault in raised.value.problems]
    assert options == [
        "--to-cluster",
        "--partitions a",
        "--partitions a",
        "--partitions a",
        "--partitions c",
        "--rename x",
        "--rename d=e",
        "--topic-id a=2",
        "--until",
        "--where",
        "--at",
        "--rename",
    ]


@pytest.mark.parametrize("name", ["b/c", "..", "b" * 250, "b\x1b[2J"])
def test_a_name_that_no_topic_can_have(name: str) -> None:
    """It is a fault of the arguments, which is known before a cluster is asked."""
    with pytest.raises(ConfigError) as raised:
        arguments([*BASE, "--rename", f"a={name}"])
    (fault,) = raised.value.problems
    assert fault.startswith("--rename a: ")
    assert "is not a name of a topic" in fault
    assert fault.isprintable()


def test_somebody_must_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal a restore that writes needs --yes, like every alteration."""
    unasked = [option for option in BASE if option != "--yes"]
    with pytest.raises(ConfigError) as raised:
        arguments(unasked)
    assert "no terminal to ask on: give --yes" in str(raised.value)
    assert not arguments([*unasked, "--dry-run"]).is_confirmed
    assert arguments(BASE).is_confirmed
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    assert not arguments(unasked).is_confirmed


def test_from_a_time_on_and_by_pattern() -> None:
    """Times become conditions beside --where; the pattern identifies a restore, also for restores of older versions."""
    request = arguments([*BASE, "--from", "1970-01-02", "--until", "1970-01-03"]).request
    assert request.condition == "(timestamp_ms < 172800000) AND (timestamp_ms >= 86400000)"
    plain = arguments(BASE).request
    assert "pattern" not in plain.identity()
    only = [option for option in BASE if option not in ("--topics", "a,b.c")]
    request = arguments([*only, "--pattern", "orders-.*"]).request
    assert (request.topics, request.pattern, request.identity()["pattern"]) == ((), "orders-.*", "orders-.*")
    for argv, fault in (
        (only, "--topics or --pattern: name the topics"),
        ([*BASE, "--from", "1970-01-03", "--until", "1970-01-03"], "--from: is not before --until"),
    ):
        with pytest.raises(ConfigError) as raised:
            arguments(argv)
        assert raised.value.problems == (fault,)
    with pytest.raises(ConfigError, match="--pattern"):
        arguments([*only, "--pattern", "("])
