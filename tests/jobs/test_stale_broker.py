"""One broker returns outdated metadata: the archive stays equal to what Kafka's clients read, each record once."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic

from kafka_lagoon.protocol.messages.metadata import MetadataResponse
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.fake.relay import relay
from tests.integration.state import create_topics, delete_topics, produce
from tests.jobs.archived import archived, assert_tiled, consumed
from tests.jobs.commands import here, rows

pytestmark = [pytest.mark.kafka, pytest.mark.spark]
LATE, AGAIN = TOPICS = ["stale-late", "stale-again"]
STALE = 1


@pytest.fixture
def topics(kafka: LocalKafka) -> Iterator[None]:
    """Two topics of three partitions with records."""
    create_topics(kafka.bootstrap_servers, [NewTopic(name, 3, 3) for name in TOPICS])
    for name in TOPICS:
        produce(kafka.bootstrap_servers, name, 300)
    yield
    delete_topics(kafka.bootstrap_servers, TOPICS)


def before(response: MetadataResponse) -> MetadataResponse:
    """Return outdated metadata: one topic does not exist yet, the other has its earlier id."""
    for topic in response.topics:
        if topic.name == LATE:
            topic.error_code, topic.partitions, topic.topic_id = 3, (), bytes(16)  # type: ignore[misc]
        elif topic.name == AGAIN:
            topic.topic_id = (5).to_bytes(16, "big")  # type: ignore[misc]
    return response


def just_started(response: MetadataResponse) -> MetadataResponse:
    """Return metadata from before the controller's first update: no topics, and no brokers."""
    for topic in response.topics:
        topic.error_code, topic.partitions, topic.topic_id = 3, (), bytes(16)  # type: ignore[misc]
    response.brokers = ()  # type: ignore[misc]
    return response


@pytest.mark.proof
@pytest.mark.usefixtures("topics")
@pytest.mark.parametrize("stale", [before, just_started])
def test_no_topic_is_archived_again(
    kafka: LocalKafka, tmp_path: Path, stale: Callable[[MetadataResponse], MetadataResponse]
) -> None:
    """Through a good, the stale, and again a good broker: no topic ends, and no record is archived twice.

    A run that knows no other broker may read nothing, and says so.
    """
    options = ["--warehouse", str(tmp_path), "--topics", ",".join(TOPICS), "--set", "ingest.stall_timeout_ms=2000"]

    def ingest(servers: str) -> tuple[int, str]:
        done = here("ingest", *options, "--set", f"kafka.bootstrap_servers={servers}")
        return done.returncode, done.stdout + done.stderr

    good = ",".join(f"{host}:{port}" for host, port in map(kafka.address, (2, 3)))
    assert ingest(good)[0] == 0
    for name in TOPICS:
        produce(kafka.bootstrap_servers, name, 30)
    with relay(STALE, kafka.address(STALE), stale) as address:
        code, said = ingest(f"{address},{good}" if stale is just_started else address)
        assert code in (0, 3), said
    assert ingest(good)[0] == 0
    assert archived(tmp_path) == consumed(kafka.bootstrap_servers, TOPICS)
    problems = {row["problem"] for row in rows(tmp_path, "record_ranges")}
    assert not problems & {"TOPIC_DELETED", "TOPIC_RECREATED", "LOG_TRUNCATED"}
    assert_tiled(tmp_path)
