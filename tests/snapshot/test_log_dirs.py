"""Rows of log directories and replicas, from messages made by hand."""

from kafka_lagoon.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from kafka_lagoon.snapshot.log_dirs import LogDirRow, ReplicaRow, log_dir_rows, replica_rows, stored_replica_rows
from kafka_lagoon.tables.cluster_rows import StoredReplicaRow

STORAGE_ERROR = 56


def replica(index: int, size: int, lag: int = 0, *, is_future: bool = False) -> DescribeLogDirsPartition:
    """Make a replica of a partition."""
    return DescribeLogDirsPartition(partition_index=index, partition_size=size, offset_lag=lag, is_future_key=is_future)


def answers() -> dict[int, DescribeLogDirsResponse]:
    """Make responses: broker 1 has two directories, one of which failed; broker 2 is too old to return sizes of volumes."""
    orders = DescribeLogDirsTopic(name="orders", partitions=(replica(1, 20, 7, is_future=True), replica(0, 10)))
    audit = DescribeLogDirsTopic(name="audit", partitions=(replica(0, 5),))
    healthy = DescribeLogDirsResult(
        error_code=0, log_dir="/b", topics=(orders, audit), total_bytes=100, usable_bytes=60, is_cordoned=True
    )
    broken = DescribeLogDirsResult(error_code=STORAGE_ERROR, log_dir="/a", topics=())
    old = DescribeLogDirsResult(error_code=0, log_dir="/c", topics=())
    return {
        2: DescribeLogDirsResponse(results=(old,)),
        1: DescribeLogDirsResponse(results=(healthy, broken)),
    }


def test_every_directory_is_a_row() -> None:
    """Sizes of a failed directory are unknown, not 0; sizes of volumes are null if the broker does not return them."""
    assert list(log_dir_rows(answers())) == [
        LogDirRow(
            broker_id=1,
            log_dir="/a",
            total_bytes=None,
            usable_bytes=None,
            replicas=None,
            size_bytes=None,
            is_cordoned=None,
            problem="KAFKA_STORAGE_ERROR",
        ),
        LogDirRow(
            broker_id=1,
            log_dir="/b",
            total_bytes=100,
            usable_bytes=60,
            replicas=3,
            size_bytes=35,
            is_cordoned=True,
            problem=None,
        ),
        LogDirRow(
            broker_id=2,
            log_dir="/c",
            total_bytes=None,
            usable_bytes=None,
            replicas=0,
            size_bytes=0,
            is_cordoned=False,
            problem=None,
        ),
    ]


def test_every_replica_is_a_row() -> None:
    """Rows are ordered by broker, directory, topic and partition, and include future replicas."""
    rows = list(replica_rows(answers()))
    assert [(row.topic, row.partition) for row in rows] == [("audit", 0), ("orders", 0), ("orders", 1)]
    assert rows[2] == ReplicaRow(
        broker_id=1, log_dir="/b", topic="orders", partition=1, size_bytes=20, offset_lag=7, is_future=True
    )


def test_a_stored_replica_has_what_is_known_of_its_directory() -> None:
    """It has the id of its topic, and the sizes of the volume."""
    rows = list(stored_replica_rows(answers(), {"orders": "id-of-orders"}, {1}))
    places = [(row.broker_id, row.log_dir, row.topic, row.partition) for row in rows]
    assert places == [
        (1, "/b", "orders", 1),
        (1, "/b", "orders", 0),
        (1, "/b", "audit", 0),
        (1, "/a", None, None),
        (2, "/c", None, None),
    ]
    assert rows[2].topic_id is None
    assert rows[0] == StoredReplicaRow(
        broker_id=1,
        log_dir="/b",
        topic="orders",
        topic_id="id-of-orders",
        partition=1,
        size_bytes=20,
        offset_lag=7,
        is_future=True,
        total_bytes=100,
        usable_bytes=60,
        is_cordoned=True,
        problem=None,
    )


def test_a_directory_without_replicas_has_a_row() -> None:
    """A failed directory has a reason; values that an old broker does not return are null, not false."""
    *_, failed, empty = stored_replica_rows(answers(), {}, {1})
    assert (failed.problem, failed.size_bytes, failed.is_cordoned) == ("KAFKA_STORAGE_ERROR", None, None)
    assert (empty.problem, empty.size_bytes, empty.is_cordoned, empty.usable_bytes) == (None, None, None, None)


def test_a_lag_that_no_broker_knows_is_null() -> None:
    """-1 is Kafka's way to say that it has the files and no such partition; a future replica may be one offset ahead."""
    topic = DescribeLogDirsTopic(name="gone", partitions=(replica(0, 5, -1), replica(1, 5, -1, is_future=True)))
    answer = {1: DescribeLogDirsResponse(results=(DescribeLogDirsResult(error_code=0, log_dir="/a", topics=(topic,)),))}
    assert [row.offset_lag for row in stored_replica_rows(answer, {}, ())] == [None, -1]
    assert [row.offset_lag for row in replica_rows(answer)] == [None, -1]


def test_a_full_disk_has_no_free_bytes() -> None:
    """0 is a size, and the one that matters most."""
    full = DescribeLogDirsResult(error_code=0, log_dir="/d", topics=(), total_bytes=100, usable_bytes=0)
    response = DescribeLogDirsResponse(results=(full,))
    (row,) = log_dir_rows({1: response})
    (stored,) = stored_replica_rows({1: response}, {}, frozenset())
    assert (row.total_bytes, row.usable_bytes) == (stored.total_bytes, stored.usable_bytes) == (100, 0)
