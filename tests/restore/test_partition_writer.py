"""A record that the target refuses is named by its offset in the source, and the records before it are written."""

from collections.abc import Callable, Sequence
from itertools import islice

import pyarrow as pa
import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.errors import BrokerError, OtherAttempt, PipelineError, TargetChanged
from kafka_lagoon.produce.arrow_writer import ArrowWriter
from kafka_lagoon.produce.batch_queues import Written
from kafka_lagoon.produce.targets import describe_targets
from kafka_lagoon.protocol.messages.produce import PRODUCE, BatchIndexAndErrorMessage
from kafka_lagoon.records.encoding import Producer
from kafka_lagoon.restore import partition_writer
from kafka_lagoon.restore.partition_writer import PartitionWriter, SendOptions
from kafka_lagoon.topic_partition import TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Fault
from tests.produce.conftest import refuse, soon
from tests.restore.lake import records

OFFSETS = range(100, 200, 10)


def write(writer: PartitionWriter, pieces: list[pa.RecordBatch], archived: Sequence[range] = (OFFSETS,)) -> None:
    """Write records, and collect those that are written before a failure."""
    for offsets in archived:
        writer.write(records(offsets))
    writer.flush()
    for piece, _ in writer.written():
        pieces.append(piece)


def failure(
    state: FakeCluster,
    connect: Callable[[], Cluster],
    monkeypatch: pytest.MonkeyPatch,
    errors: Sequence[int] = (),
    archived: Sequence[range] = (OFFSETS,),
) -> tuple[PipelineError, int]:
    """Write records in batches of four; return the failure, and how many records are written."""
    monkeypatch.setattr(partition_writer, "TARGET_BATCH_BYTES", 150)
    state.add_topic("copy", 1, end=0).partitions[0].produce_errors = list(errors)
    cluster = connect()
    topics = dict(describe_targets(cluster, {"copy"}, soon()))
    options, producer = SendOptions(codec=0, timeout_ms=2_000), Producer(4_000, 0, 0)
    with PartitionWriter(cluster, TopicPartition("copy", 0), topics, options, producer) as writer:
        pieces: list[pa.RecordBatch] = []
        with pytest.raises(PipelineError) as raised:
            write(writer, pieces, archived)
        return raised.value, sum(piece.num_rows for piece in pieces)


def test_a_refused_batch_has_its_offsets(
    state: FakeCluster, connect: Callable[[], Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that names no record refuses a batch, whose first and last record are named."""
    error, written = failure(state, connect, monkeypatch, [0, 10])
    assert isinstance(error, TargetChanged)
    assert (str(error), written) == (
        "partition 0 of topic copy refuses a batch of the records at offsets 140 to 170 of the source: MESSAGE_TOO_LARGE",
        4,
    )


def test_a_refused_batch_of_several_pieces(
    state: FakeCluster, connect: Callable[[], Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Archived records come in pieces, in which batches begin and end: only those of written batches are returned."""
    pieces = [range(100, 130, 10), range(130, 160, 10), range(160, 200, 10)]
    error, written = failure(state, connect, monkeypatch, [0, 0, 10], pieces)
    size = state.topics["copy"].partitions[0].high_watermark
    assert written == size
    assert f"a batch of the records at offsets {100 + 10 * size} to " in str(error)


def test_a_record_that_the_broker_names(
    state: FakeCluster, connect: Callable[[], Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compacted topic takes no record without a key."""
    named = (BatchIndexAndErrorMessage(batch_index=1, batch_index_error_message="it has no key"),)
    state.faults.append(Fault(PRODUCE.key, refuse(87, record_errors=named), times=9))
    error, written = failure(state, connect, monkeypatch)
    assert (str(error), written) == (
        "partition 0 of topic copy refuses the record at offset 110 of the source: INVALID_RECORD (it has no key)",
        0,
    )


def test_answers_that_come_while_written_records_are_taken(
    state: FakeCluster, connect: Callable[[], Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records that are written before an error are returned before it is raised, also if both came just now."""
    monkeypatch.setattr(partition_writer, "TARGET_BATCH_BYTES", 150)
    state.add_topic("copy", 1, end=0).partitions[0].produce_errors = [0, 10]
    cluster = connect()
    topics = dict(describe_targets(cluster, {"copy"}, soon()))
    options, producer = SendOptions(codec=0, timeout_ms=2_000), Producer(4_000, 0, 0)
    with PartitionWriter(cluster, TopicPartition("copy", 0), topics, options, producer) as writer:
        with monkeypatch.context() as patched:

            def taken_before_the_answers(_: ArrowWriter) -> list[Written]:
                writer.write(records(OFFSETS))
                writer.flush()
                return []

            patched.setattr(ArrowWriter, "take_written", taken_before_the_answers)
            assert list(writer.written()) == []
        written = writer.written()
        assert sum(piece.num_rows for piece, _ in islice(written, 1)) == 4
        with pytest.raises(TargetChanged):
            next(written)


def test_a_failure_that_is_of_no_record(
    state: FakeCluster, connect: Callable[[], Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Offsets of the source have nothing to do with a missing permission."""
    error, _ = failure(state, connect, monkeypatch, [29])
    assert isinstance(error, BrokerError)
    assert str(error) == "Produce for copy-0: TOPIC_AUTHORIZATION_FAILED"


@pytest.mark.parametrize("code", [45, 46])
def test_another_attempt_that_writes_the_same(
    state: FakeCluster, connect: Callable[[], Cluster], monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """A duplicate whose offset the broker has forgotten has no place in the map of offsets: the attempt that wrote it goes on."""
    error, written = failure(state, connect, monkeypatch, [0, code])
    assert isinstance(error, OtherAttempt)
    assert written == 4
