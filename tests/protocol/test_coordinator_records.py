"""Records of coordinators: values, and problems of unreadable records; tests/oracle checks the fields by Kafka's schemas."""

import pytest

from kafka_lagoon.protocol.coordinator_records import (
    GROUP_RECORDS,
    TRANSACTION_RECORDS,
    CoordinatorRecord,
    GroupKey,
    GroupMetadataValue,
    MemberKey,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
    TransactionLogKey,
    decode_record,
)
from kafka_lagoon.wire.writing import encode

COMMIT_KEY = b"\0\1" + encode(OffsetCommitKey(group="g", topic="t", partition=5), 0, flexible=False)
COMMIT = OffsetCommitValue(offset=7, leader_epoch=2, metadata="m", commit_timestamp=9)


def _value(message: object, version: int, flexible: bool) -> bytes:
    return version.to_bytes(2, "big") + encode(message, version, flexible)


@pytest.mark.parametrize("version", range(5))
def test_commits_of_every_version(version: int) -> None:
    """Fields that a version lacks have their default."""
    made = OffsetCommitValue(
        offset=7,
        metadata="m",
        commit_timestamp=9,
        leader_epoch=2 if version >= 3 else -1,
        expire_timestamp=99 if version == 1 else -1,
    )
    record = decode_record(GROUP_RECORDS, COMMIT_KEY, _value(made, version, version >= 4))
    key = OffsetCommitKey(group="g", topic="t", partition=5)
    assert record == CoordinatorRecord(kind="offset_commit", key=key, value=made)


def test_groups_and_tombstones() -> None:
    """A group's record has its members; a tombstone only has a key."""
    member = MemberMetadata(
        member_id="m", client_id="c", client_host="/h", session_timeout=1, subscription=b"s", assignment=b"a"
    )
    group = GroupMetadataValue(protocol_type="consumer", generation=3, protocol="range", leader="m", members=(member,))
    key = b"\0\2" + encode(GroupKey(group_id="g"), 0, flexible=False)
    assert decode_record(GROUP_RECORDS, key, _value(group, 3, False)).value == group
    assert decode_record(GROUP_RECORDS, key, None) == CoordinatorRecord(
        kind="group_metadata", key=GroupKey(group_id="g")
    )


SHARE_KEY = b"\0\x0a" + encode(MemberKey(group_id="g", member_id="m"), 0, flexible=False)


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        (None, b"x", "KEY_UNREADABLE"),
        (b"\0", None, "KEY_UNREADABLE"),
        (COMMIT_KEY[:-1], None, "KEY_UNREADABLE"),
        (b"\0\x63" + COMMIT_KEY[2:], b"", "UNKNOWN_RECORD_TYPE"),
        (COMMIT_KEY, b"\0\5" + bytes(40), "UNKNOWN_VERSION"),
        (COMMIT_KEY, b"\xff\xff", "UNKNOWN_VERSION"),
        (COMMIT_KEY, b"", "VALUE_UNREADABLE"),
        (COMMIT_KEY, _value(COMMIT, 3, False)[:-1], "VALUE_UNREADABLE"),
        (SHARE_KEY, b"\0\0anything", "VALUE_NOT_DECODED"),
        (SHARE_KEY, None, None),
    ],
)
def test_what_cannot_be_read(key: bytes | None, value: bytes | None, problem: str | None) -> None:
    """An unreadable record has a problem, and never raises; its key is kept if it can be read."""
    record = decode_record(GROUP_RECORDS, key, value)
    assert (record.problem, record.value) == (problem, None)
    assert (record.key is None) == (problem in {"KEY_UNREADABLE", "UNKNOWN_RECORD_TYPE"})


def test_transactions_have_keys_of_their_own() -> None:
    """Each internal topic has its own numbers for kinds of records."""
    key = b"\0\0" + encode(TransactionLogKey(transactional_id="payments-1"), 0, flexible=False)
    record = decode_record(TRANSACTION_RECORDS, key, None)
    assert record.key == TransactionLogKey(transactional_id="payments-1")
