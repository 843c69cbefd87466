"""The command line of `lagoon restore`: every fault at once, before any cluster or table is asked."""

import pytest

from kafka_lagoon.cli.restore_arguments import restore_arguments
from kafka_lagoon.errors import ConfigError
from tests.clock import CLOCK

PLACES = ["--warehouse", "/lake", "--set", "clusters.spare.bootstrap_servers=localhost:1"]
BASE = [*PLACES, "--from-cluster", "prod", "--to-cluster", "spare", "--topics", "a,b.c"]


def test_what_is_asked_for() -> None:
    """Options become the request; the condition names columns as the tables have them."""
    argv = ["--partitions", "a:1,0", "--partitions", "a:3", "--rename", "b.c=new", "--where", "offset > 5"]
    argv += ["--until", "1970-01-02", "--topic-id", "a=x", "--replication-factor", "2", "--with-offsets"]
    request = restore_arguments([*BASE, *argv], {}, CLOCK).request
    assert (request.topics, request.partitions) == (("a", "b.c"), {"a": (0, 1, 3)})
    assert (request.target_of("a"), request.target_of("b.c")) == ("a", "new")
    assert request.condition == '(timestamp_ms < 86400000) AND ("offset" > 5)'
    assert (request.topic_ids, request.replication_factor, request.with_offsets) == ({"a": "x"}, 2, True)


def test_a_run_goes_on_with_what_chooses_records() -> None:
    """Options that choose no records may change from run to run."""
    plain = restore_arguments(BASE, {}, CLOCK).request
    more = ["--with-offsets", "--accept-changes", "--dry-run", "--into-existing"]
    assert restore_arguments([*BASE, *more], {}, CLOCK).request.identity() == plain.identity()
    other = restore_arguments([*BASE, "--where", "partition = 1"], {}, CLOCK).request
    assert other.identity() != plain.identity()


def test_all_faults_at_once() -> None:
    """Each names its option."""
    argv = [*PLACES, "--from-cluster", "prod", "--to-cluster", "spar", "--topics", "a,b"]
    argv += ["--partitions", "a", "--partitions", "c:1", "--rename", "a=b", "--rename", "x", "--rename", "d=e"]
    argv += ["--where", "random() > 1", "--until", "soon", "--at", "never", "--topic-id", "a=1", "--topic-id", "a=2"]
    with pytest.raises(ConfigError) as raised:
        restore_arguments(argv, {}, CLOCK)
    options = [fault.partition(":")[0] for fault in raised.value.problems]
    assert options == [
        "--to-cluster",
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
