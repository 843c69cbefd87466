"""OffsetCommit, byte by byte."""

from kafka_lagoon.protocol.messages.offset_commit import (
    BY_ID,
    BY_NAME,
    OFFSET_COMMIT,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_lagoon.wire.writing import encode

ID = bytes(range(16))
PARTITION = OffsetCommitRequestPartition(partition_index=1, committed_offset=5, committed_metadata="")
TOPIC = OffsetCommitRequestTopic(name="a", topic_id=ID, partitions=(PARTITION,))
REQUEST = OffsetCommitRequest(group_id="g", topics=(TOPIC,))


def test_oldest_requests() -> None:
    """v0 has no members, v1 a timestamp per commit, v2 to v4 a retention time, v5 neither; -1 leaves both to the broker."""
    topic, commit, absent = "00000001 0001 61 00000001", "00000001 0000000000000005", "ffffffffffffffff"
    for version, expected in (
        (0, f"0001 67 {topic} {commit} 0000"),
        (1, f"0001 67 ffffffff 0000 {topic} {commit} {absent} 0000"),
        (2, f"0001 67 ffffffff 0000 {absent} {topic} {commit} 0000"),
        (5, f"0001 67 ffffffff 0000 {topic} {commit} 0000"),
    ):
        assert encode(REQUEST, version, False) == bytes.fromhex(expected), version


def test_names_then_ids() -> None:
    """v9 carries the name alone, v10 the id alone; the two ranges are all versions."""
    head, tail = "0267 ffffffff 01 00 02", "02 00000001 0000000000000005 ffffffff 01 00 00 00"
    assert encode(REQUEST, BY_NAME.highest, True) == bytes.fromhex(f"{head} 0261 {tail}")
    assert encode(REQUEST, BY_ID.lowest, True) == bytes.fromhex(f"{head} {ID.hex()} {tail}")
    assert [*BY_NAME, *BY_ID] == list(OFFSET_COMMIT.versions)
