"""EndTxn (api key 26): commit or abort a transaction.

The coordinator of the transaction answers. Surprises:

- The answer comes when the decision is stored, and cannot be undone then. The markers follow in each partition, so that
  readers may see the transaction's records later, and the next request of the producer may be error 51: ask again.
- Asked again for the same end, it succeeds again; for the other end it is error 48, as for a transaction that nothing
  was added to (which v5 may abort).
- From v5 on each transaction has an epoch of its own: the answer has the id and epoch to continue with (KIP-890). v5 may
  be used only where the cluster's feature transaction.version is 2.
- A fenced producer gets error 90 from v2 on, 47 before.
"""

from kafka_lagoon.wire.schema import Api, Bool, Int16, Int32, Int64, String, Versions, struct, wire

COMMIT, ABORT = True, False  # as committed
NO_PRODUCER_ID, NO_PRODUCER_EPOCH = -1, -1


@struct
class EndTxnRequest:
    """A transaction, and how it ends."""

    transactional_id: String
    producer_id: Int64
    producer_epoch: Int16
    committed: Bool


@struct
class EndTxnResponse:
    """An error code, 0 if the end is decided; from v5 on the id and epoch of the next transaction."""

    throttle_time_ms: Int32
    error_code: Int16
    producer_id: Int64 = wire(since=5, default=NO_PRODUCER_ID, ignorable=True)
    producer_epoch: Int16 = wire(since=5, default=NO_PRODUCER_EPOCH, ignorable=True)


END_TXN = Api(
    key=26,
    versions=Versions(0, 5),
    flexible=3,
    request=EndTxnRequest,
    response=EndTxnResponse,
)
