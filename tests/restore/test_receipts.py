"""A receipt says if a partition has the records that a restore wrote, as its leader returns them."""

from collections.abc import Callable, Generator, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.compare.reading import Chunk, HashedReader
from kafka_lagoon.protocol.error_codes import NOT_LEADER_OR_FOLLOWER
from kafka_lagoon.protocol.messages.fetch import FETCH
from kafka_lagoon.records.digests import SequenceDigest
from kafka_lagoon.restore import receipts
from kafka_lagoon.restore.archive_reader import ArchivedPartition
from kafka_lagoon.restore.asked_together import logs_of
from kafka_lagoon.restore.offset_map import OffsetRange, PartitionMap
from kafka_lagoon.restore.plan import PlannedPartition
from kafka_lagoon.restore.receipts import OtherRecords, Restored, read_back, receipt
from kafka_lagoon.tables.write_rows import RestoreReceiptRow
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.fake.batches import batch
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Fault
from tests.fetch.reading import QUICK, altered, fill, log, split

Connect = Callable[..., Cluster]


@pytest.fixture
def state() -> FakeCluster:
    """A topic with one partition, without records."""
    state = FakeCluster()
    state.add_topic("t", 1, end=0)
    return state


@pytest.fixture
def cluster(state: FakeCluster, connect: Connect) -> Cluster:
    """A client that knows the leader."""
    fill(state)
    cluster = connect()
    cluster.refresh({"t"}, Deadline.after(CLOCK, 5_000))
    return cluster


def written(cluster: Cluster, state: FakeCluster, offsets: Iterable[int] = range(20)) -> Restored:
    """Append these records as a restore would write them."""
    digest = SequenceDigest()
    for offset in offsets:
        for chunk in HashedReader(cluster, split(state, from_offset=offset, to_offset=offset + 1), QUICK).chunks():
            digest = digest.then(chunk.hashes)
    source = ArchivedPartition(cluster_id="a", topic="s", topic_id=None, partition=3, from_offset=100, to_offset=120)
    return Restored(
        planned=PlannedPartition(source=source, target=TopicPartition("t", 0), target_topic_id=None, base_offset=0),
        digest=digest,
        offset_map=PartitionMap(ranges=(OffsetRange(100, 0, 20),), source_end=120, target_start=0),
    )


def receipt_of(cluster: Cluster, restored: Restored) -> RestoreReceiptRow:
    """Read the records back and return their receipt."""
    logs = logs_of(cluster, [TopicPartition("t", 0)])
    read = read_back(cluster, restored, logs, QUICK, Deadline.after(CLOCK, 2_000))
    return receipt(
        restored, read, restore_id="r", source_cluster_id="a", target_cluster_id="b", checked_at_ms=CLOCK.now_ms()
    )


def test_what_is_equal(cluster: Cluster, state: FakeCluster) -> None:
    """The receipt has equal digests, all records, and no problem."""
    receipt_row = receipt_of(cluster, written(cluster, state))
    assert (receipt_row.records, receipt_row.records_read_back, receipt_row.problem) == (20, 20, None)
    assert receipt_row.digest == receipt_row.digest_read_back
    assert (receipt_row.target_from_offset, receipt_row.target_to_offset) == (0, 20)


def test_ranges_are_put_in_order_once(cluster: Cluster, state: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compacted log has as many ranges as records: for each piece of it that is read they would take the square."""
    counted = list[OffsetRange]()

    def target_end(offset_range: OffsetRange) -> int:
        counted.append(offset_range)
        return offset_range.target_offset + offset_range.records

    class Pieces(HashedReader):
        """Records are read one by one."""

        def chunks(self) -> Generator[Chunk, None, None]:
            for chunk in super().chunks():
                for number in range(len(chunk.offsets)):
                    piece = slice(number, number + 1)
                    yield replace(chunk, offsets=chunk.offsets[piece], hashes=chunk.hashes[piece])

    ranges = tuple(OffsetRange(100 + 2 * offset, offset, 1) for offset in range(20))
    restored = replace(written(cluster, state), offset_map=PartitionMap(ranges=ranges, source_end=140, target_start=0))
    monkeypatch.setattr(receipts, "HashedReader", Pieces)
    monkeypatch.setattr(OffsetRange, "target_end", property(target_end))
    assert receipt_of(cluster, restored).problem is None
    assert len(counted) < 2 * len(ranges)


@pytest.mark.parametrize(
    ("offsets", "problem"),
    [
        ([*range(10), 11, 10, *range(12, 20)], "ORDER_DIFFERS"),
        ([*range(19), 3], "RECORDS_DIFFER"),
        ([*range(20), 19], "RECORDS_MISSING"),
        ([*range(19)], "RECORDS_DOUBLED"),
    ],
)
def test_what_differs(cluster: Cluster, state: FakeCluster, offsets: list[int], problem: str) -> None:
    """Order, content and number of the 20 records in the partition are compared with what the restore should have written."""
    receipt_row = receipt_of(cluster, written(cluster, state, offsets))
    assert (receipt_row.problem, receipt_row.records_read_back) == (problem, 20)
    assert receipt_row.digest != receipt_row.digest_read_back


def test_an_answer_that_was_damaged_on_its_way(cluster: Cluster, state: FakeCluster) -> None:
    """It is read again, and the receipt does not say that the order differs."""
    restored, size = written(cluster, state), len(log(state).log[0].data)

    def damage(partition: Any) -> None:
        partition.records = partition.records[: size - 1] + b"?" + partition.records[size:]

    state.faults.append(Fault(FETCH.key, altered(damage)))
    row = receipt_of(cluster, restored)
    assert (row.problem, row.records_read_back, state.faults[0].times) == (None, 20, 0)


def test_records_of_others_are_reported(cluster: Cluster, state: FakeCluster) -> None:
    """Records of others among those of the restore, or before them, are not in the digest, and their ranges are named."""
    ours = [*range(3, 8), *range(9, 15)]
    ranges = (OffsetRange(0, 3, 5), OffsetRange(7, 9, 6))
    offset_map = PartitionMap(ranges=ranges, source_end=13, target_start=3)
    restored = replace(written(cluster, state, ours), offset_map=offset_map)
    row = receipt_of(cluster, restored)
    assert (row.problem, row.other_records, row.other_offsets) == ("OTHER_RECORDS", 1, "8")
    assert row.digest == row.digest_read_back
    row = receipt_of(cluster, replace(restored, offset_map=replace(offset_map, target_start=1)))
    assert (row.problem, row.other_records, row.other_offsets) == ("OTHER_RECORDS", 3, "1-2, 8")
    first_alone = replace(written(cluster, state, range(3, 8)), offset_map=replace(offset_map, ranges=ranges[:1]))
    row = receipt_of(cluster, first_alone)
    # Records before and after those of the restore do not matter.
    assert (row.problem, row.other_records, row.other_offsets) == (None, 0, None)


def test_what_others_wrote_may_be_deleted(cluster: Cluster, state: FakeCluster) -> None:
    """Records of others before the restore's first record may be deleted; they do not count as the restore's own."""
    offset_map = PartitionMap(ranges=(OffsetRange(0, 8, 12),), source_end=12, target_start=0)
    restored = replace(written(cluster, state, range(8, 20)), offset_map=offset_map)
    log(state).log_start_offset = 8
    row = receipt_of(cluster, restored)
    assert (row.problem, row.records_read_back, row.other_records) == (None, 12, 0)


def test_an_open_transaction_of_others(cluster: Cluster, state: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records after it can neither be read nor called missing, because they may still be committed."""
    monkeypatch.setattr(receipts, "_MARKERS_MS", 300)
    restored = written(cluster, state)
    log(state).last_stable_offset = 12
    row = receipt_of(cluster, restored)
    assert (row.problem, row.records_read_back, row.other_records) == ("OPEN_TRANSACTION", None, None)
    log(state).last_stable_offset = 20
    assert receipt_of(cluster, restored).problem is None


@given(st.lists(st.booleans(), max_size=60), st.lists(st.integers(1, 60), max_size=8))
def test_every_offset_of_others_is_named(is_other: list[bool], cuts: list[int]) -> None:
    """The ranges have exactly the offsets of other records, however these are divided into chunks, and so has the count."""
    offsets = np.flatnonzero(np.array(is_other, np.bool_)).astype(np.int64)
    others = OtherRecords()
    for part in np.split(offsets, sorted({int(np.searchsorted(offsets, cut)) for cut in cuts})):
        others.add(part)
    assert others.records == len(offsets)
    named = [offset for first, last in others.ranges for offset in range(first, last + 1)]
    assert named == offsets.tolist()[: len(named)]
    assert others.further or len(named) == len(offsets)


def test_a_range_goes_on_in_the_next_chunk() -> None:
    """Consecutive offsets are one range, however they are divided; twenty ranges are not used up by it."""
    others = OtherRecords()
    for start in range(0, 90, 3):
        others.add(np.arange(start, start + 3))
    others.add(np.array([95]))
    assert (others.records, str(others)) == (91, "0-89, 95")


def test_many_ranges_are_counted() -> None:
    """A receipt names twenty ranges, and says how many more there are."""
    others = OtherRecords()
    others.add(np.arange(0, 100, 2))
    assert (others.records, str(others).count(","), str(others)[-20:]) == (50, 19, "8 and 30 more ranges")


def test_a_log_that_ends_before(cluster: Cluster, state: FakeCluster) -> None:
    """A target that was truncated later has too few records; one that lost its first records is reported, too."""
    restored = written(cluster, state)
    log(state).log_start_offset = 4
    receipt_row = receipt_of(cluster, restored)
    assert (receipt_row.problem, receipt_row.records_read_back, receipt_row.digest_read_back) == ("LOST", None, None)
    log(state).log_start_offset = 0
    log(state).log = log(state).log[:2]
    log(state).high_watermark = 8
    receipt_row = receipt_of(cluster, restored)
    assert (receipt_row.problem, receipt_row.records_read_back) == ("RECORDS_MISSING", 8)


def test_nothing_was_to_be_written(cluster: Cluster, state: FakeCluster) -> None:
    """An empty partition has a receipt, too; no records are fetched."""
    empty = replace(written(cluster, state, []), offset_map=PartitionMap(ranges=(), source_end=7, target_start=20))
    receipt_row = receipt_of(cluster, empty)
    assert (receipt_row.records, receipt_row.records_read_back, receipt_row.problem) == (0, 0, None)
    assert (receipt_row.target_from_offset, receipt_row.target_to_offset) == (20, 20)


def test_what_cannot_be_read(cluster: Cluster, state: FakeCluster) -> None:
    """The receipt has the reason as its problem, and no number of records."""
    restored = written(cluster, state)
    log(state).error_code = NOT_LEADER_OR_FOLLOWER
    receipt_row = receipt_of(cluster, restored)
    assert (receipt_row.records_read_back, receipt_row.digest_read_back) == (None, None)
    assert receipt_row.problem in {"NOT_LEADER_OR_FOLLOWER", "DEADLINE_PASSED"}
    log(state).error_code = 0
    damaged = batch(0, [b"x"] * 4)
    damaged.data = damaged.data[:-1] + b"?"
    log(state).log[0] = damaged
    receipt_row = receipt_of(cluster, restored)
    assert (receipt_row.problem, receipt_row.records_read_back) == ("CORRUPT_BATCH", None)
