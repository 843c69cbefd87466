"""AddOffsetsToTxn (api key 25): a transaction is about to commit offsets of a group.

The coordinator of the transaction answers; the offsets themselves go to that of the group, with TxnOffsetCommit. The
transaction gets the group's partition of __consumer_offsets, as if by AddPartitionsToTxn, with the same errors. Where
the cluster's feature transaction.version is 2, producers leave this to TxnOffsetCommit v5 (KIP-890).
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, Int64, String, Versions, struct


@struct
class AddOffsetsToTxnRequest:
    """A transaction, and the group whose offsets it will commit."""

    transactional_id: String
    producer_id: Int64
    producer_epoch: Int16
    group_id: String


@struct
class AddOffsetsToTxnResponse:
    """An error code, 0 if offsets may be committed now."""

    throttle_time_ms: Int32
    error_code: Int16


ADD_OFFSETS_TO_TXN = Api(
    key=25,
    versions=Versions(0, 4),
    flexible=3,
    request=AddOffsetsToTxnRequest,
    response=AddOffsetsToTxnResponse,
)
