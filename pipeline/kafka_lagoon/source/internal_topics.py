"""Decodes Kafka's own topics for analysts: commits and groups of __consumer_offsets, transactions of __transaction_state.

Each function takes a frame with columns `key` and `value` (binary), of `spark.read.format("lagoon")`, of Spark's connector or
of table `records`, and gives a row for each of its rows. What cannot be decoded is null, and `problem` says why.
"""

import json
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  its usual name
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import StructType

from kafka_lagoon.delta.arrow import valid_utf8
from kafka_lagoon.errors import DecodeError
from kafka_lagoon.protocol.coordinator_records import (
    GROUP_RECORDS,
    TRANSACTION_RECORDS,
    TRANSACTION_STATES,
    CoordinatorRecord,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
    TransactionLogValue,
    decode_record,
)
from kafka_lagoon.protocol.embedded import decode_assignment, decode_subscription
from kafka_lagoon.wire.primitives import uuid_text
from kafka_lagoon.wire.schema import Array, Blob, Kind, Nested, Scalar, fields_of

_POSITION = {"partition": "log_partition", "offset": "log_offset", "timestamp": "written_at"}  # of the record itself
_OFFSETS = """record_type string, group_id string, member_id string, topic string, topic_id string, partition int,
    committed_offset bigint, committed_leader_epoch int, metadata string, committed_at timestamp, expires_at timestamp,
    details string, is_tombstone boolean, problem string"""
_TRANSACTIONS = """transactional_id string, state string, producer_id bigint, producer_epoch int, timeout_ms int,
    partitions array<struct<topic: string, partitions: array<int>>>, started_at timestamp, updated_at timestamp,
    is_tombstone boolean, problem string"""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def consumer_offsets(records: DataFrame) -> DataFrame:
    """The records of __consumer_offsets, decoded.

    A commit (`record_type` offset_commit) has columns of its own; what others say is JSON in `details`: members of groups with
    their subscriptions and assignments. `is_tombstone`: the record removes what was said of its key, as when a commit expires.
    `log_partition`, `log_offset` and `written_at` are those of the record itself, where the frame has them.
    """
    return _decoded(records, _OFFSETS, _offsets_row)


def transaction_state(records: DataFrame) -> DataFrame:
    """The records of __transaction_state, decoded: one for each step of a transaction."""
    return _decoded(records, _TRANSACTIONS, _transaction_row)


def _decoded(records: DataFrame, columns: str, row: Callable[[Any, Any], dict[str, Any]]) -> DataFrame:
    """The frame's position columns, and the result of `row` for each key and value.

    It is an Arrow UDF, because mapInArrow needs pandas.
    """
    kind = cast("StructType", StructType.fromDDL(columns))
    decode = arrow_udf(_decoder(row, tuple(kind.names)), kind)  # type: ignore[call-overload]  # its stub knows no structs
    position = [F.col(name).alias(alias) for name, alias in _POSITION.items() if name in records.columns]
    return records.select(*position, decode("key", "value").alias("decoded")).select(
        *(alias for name, alias in _POSITION.items() if name in records.columns), "decoded.*"
    )


def _decoder(
    row: Callable[[Any, Any], dict[str, Any]], names: tuple[str, ...]
) -> Callable[[pa.Array, pa.Array], pa.Array]:
    def decode(keys: pa.Array, values: pa.Array) -> pa.Array:
        rows = list(map(row, keys.to_pylist(), values.to_pylist()))
        return pa.StructArray.from_arrays([_column(name, rows) for name in names], names)

    return decode


_ARROW = {
    **dict.fromkeys(("partition", "committed_leader_epoch", "producer_epoch", "timeout_ms"), pa.int32()),
    **dict.fromkeys(("committed_offset", "producer_id"), pa.int64()),
    **dict.fromkeys(("committed_at", "expires_at", "started_at", "updated_at"), pa.timestamp("us", "UTC")),
    "is_tombstone": pa.bool_(),
    "partitions": pa.list_(pa.struct({"topic": pa.string(), "partitions": pa.list_(pa.int32())})),
}


def _column(name: str, rows: list[dict[str, Any]]) -> pa.Array:
    kind = _ARROW.get(name, pa.string())
    try:
        return pa.array([row.get(name) for row in rows], kind)
    except UnicodeEncodeError:  # names that clients sent and that are not UTF-8
        return pa.array([valid_utf8(row.get(name)) for row in rows], kind)


def _offsets_row(key: bytes | None, value: bytes | None) -> dict[str, Any]:
    record = decode_record(GROUP_RECORDS, key, value)
    row: dict[str, Any] = {"record_type": record.kind, "is_tombstone": value is None, "problem": record.problem}
    match record.key:
        case None:
            return row
        case OffsetCommitKey(group=group, topic=topic, partition=partition):
            return row | {"group_id": group, "topic": topic, "partition": partition} | _commit(record.value)
    member_id = getattr(record.key, "member_id", None)
    return row | {"group_id": record.key.group_id, "member_id": member_id, "details": _details(record)}


def _commit(value: OffsetCommitValue | None) -> dict[str, Any]:
    if value is None:
        return {}
    return {
        "topic_id": uuid_text(value.topic_id),
        "committed_offset": value.offset,
        "committed_leader_epoch": None if value.leader_epoch == -1 else value.leader_epoch,
        "metadata": value.metadata,
        "committed_at": _time(value.commit_timestamp),
        "expires_at": _time(value.expire_timestamp),
    }


def _transaction_row(key: bytes | None, value: bytes | None) -> dict[str, Any]:
    record = decode_record(TRANSACTION_RECORDS, key, value)
    row: dict[str, Any] = {"is_tombstone": value is None, "problem": record.problem}
    if record.key is not None:
        row["transactional_id"] = record.key.transactional_id
    return row | _transaction(record.value) if record.value is not None else row


def _transaction(value: TransactionLogValue) -> dict[str, Any]:
    parts = value.transaction_partitions
    return {
        "state": _state(value.transaction_status),
        "producer_id": value.producer_id,
        "producer_epoch": value.producer_epoch,
        "timeout_ms": value.transaction_timeout_ms,
        "partitions": parts and [{"topic": one.topic, "partitions": list(one.partition_ids)} for one in parts],
        "started_at": _time(value.transaction_start_timestamp_ms),
        "updated_at": _time(value.transaction_last_update_timestamp_ms),
    }


def _state(number: int) -> str:
    return TRANSACTION_STATES[number] if 0 <= number < len(TRANSACTION_STATES) else f"UNKNOWN_{number}"


def _time(ms: int) -> datetime | None:
    """None for -1, which is no time, and for times outside the years 1 to 9999."""
    try:
        return None if ms == -1 else _EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        return None


def _details(record: CoordinatorRecord) -> str | None:
    """The content of a record beside its columns, as JSON; null without a value."""
    if record.value is None:
        return None
    details = _plain(record.value)
    if isinstance(record.value, GroupMetadataValue):
        for member, plain in zip(record.value.members, details["members"], strict=True):
            plain["subscription"] = _embedded(decode_subscription, member.subscription)
            plain["assignment"] = _embedded(decode_assignment, member.assignment)
    if hasattr(record.key, "regular_expression"):
        details["regular_expression"] = record.key.regular_expression
    return json.dumps(valid_utf8(details), ensure_ascii=False)


def _embedded(decode: Callable[[bytes], Any], encoded: bytes) -> Any:
    """The data of a consumer; as base64 if another kind of client wrote them (Kafka Connect), null if there are none."""
    try:
        return _plain(decode(encoded)) if encoded else None
    except DecodeError:
        return b64encode(encoded).decode()


def _plain(message: Any) -> dict[str, Any]:
    return {field.name: _plain_value(field.kind, getattr(message, field.name)) for field in fields_of(type(message))}


def _plain_value(kind: Kind, value: Any) -> Any:
    if value is None:
        return None
    match kind:
        case Scalar(code="16s"):
            return uuid_text(value)
        case Blob():
            return b64encode(value).decode()
        case Array():
            return [_plain_value(kind.item, item) for item in value]
        case Nested():
            return _plain(value)
    return value
