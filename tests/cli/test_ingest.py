"""Arguments of `lagoon ingest` that contradict each other or name what the run does not read."""

from pathlib import Path

import pytest

from kafka_lagoon.cli.ingest import ingest_all, ingest_arguments
from kafka_lagoon.cli.main import options_of
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.fetch.read_spec import ReadSpec
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.fake.batches import batch
from tests.fake.broker import fake_cluster
from tests.fake.cluster import FakeCluster

ENVIRON = {"LAGOON_WAREHOUSE": "w", "LAGOON_CREATE": "true", "LAGOON_KAFKA__BOOTSTRAP_SERVERS": "localhost:9"}


def spec_of(*argv: str) -> ReadSpec:
    return ingest_arguments(options_of("ingest", list(argv)), ENVIRON, CLOCK).spec


def problems(*argv: str) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        spec_of(*argv)
    return list(refused.value.problems)


@pytest.mark.parametrize("start", ["2h ago", "1h ago"])
def test_a_start_that_is_not_before_the_end(start: str) -> None:
    """The start of a new topic is stored, so that swapped times would leave out records for ever."""
    line = "ingest.start: is not before --until"
    assert problems("--topics", "a", "--from", start, "--until", "2h ago") == [line]
    assert spec_of("--topics", "a", "--from", "3h ago", "--until", "2h ago").start.times()


def test_a_start_of_a_topic_that_is_not_read() -> None:
    """Neither --topics nor --pattern has it: it may be misspelt, and a similar name is suggested."""
    assert problems("--topics", "orders,b", "--pattern", "x.*", "--from", "oders:0=15,xy:1=5,orders:0=2") == [
        "ingest.start: oders is not among the topics to read (did you mean orders?)"
    ]
    start = spec_of("--pattern", "o.*", "--from", "oders:0=15").start
    assert list(start.by_partition) == [TopicPartition("oders", 0)]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_start_of_topics_that_are_archived(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line says that --from is without effect, unless a topic is new; a start of the settings is for later topics."""
    state = FakeCluster()
    for name in "abcde":
        state.add_topic(name, 1, end=0).partitions[0].append(batch(0, [b"v"] * 4))
    with fake_cluster(state):
        servers = ",".join(f"{host}:{port}" for host, port in state.addresses.values())

        def notes(topics: str, *options: str) -> list[str]:
            argv = ["--warehouse", str(tmp_path / "lake"), "--set", f"kafka.bootstrap_servers={servers}"]
            options_given = options_of("ingest", [*argv, "--topics", topics, *options])
            assert ingest_all(ingest_arguments(options_given, {}, CLOCK), CLOCK) == 0
            return [text for text in capsys.readouterr().err.splitlines() if "--from" in text]

        assert notes("a", "--from", "latest") == []
        assert notes("a", "--set", "ingest.start=earliest") == []
        line = "lagoon: default: --from: a is archived already, and continues where the last run ended"
        assert notes("a", "--from", "earliest") == [line]
        assert notes("a,b", "--from", "a:0=1") == [line]
        assert notes("a,b,c,d,e", "--from", "earliest") == []
        assert notes("a,b,c,d,e", "--from", "earliest") == [
            "lagoon: default: --from: a, b, c and 2 more are archived already, and continue where the last run ended"
        ]
