"""InitProducerId (api key 22): an id and an epoch for an idempotent or a transactional producer.

The coordinator of the transactional id answers, any broker if it is null. Surprises:

- With a transactional id it fences: a producer that had the id before gets error 90 or 47 from then on, and what it
  had not ended is aborted. Until that is done the answer is error 51, so ask again.
- Without one the id is new each time, with epoch 0.
- A timeout that is not positive, or beyond transaction.max.timeout.ms (15 min), is error 50.
- From v3 on a producer that failed tells its id and epoch to have the epoch raised, and goes on (KIP-360). Fenced
  producers get error 90 from v4 on, 47 before.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, Int64, String, Versions, struct, wire

NO_PRODUCER_ID, NO_PRODUCER_EPOCH = -1, -1


@struct
class InitProducerIdRequest:
    """Whose transactions, how long one may stay open (nothing without an id), and the id and epoch to go on with."""

    transactional_id: String | None  # null: idempotent only
    transaction_timeout_ms: Int32
    producer_id: Int64 = wire(since=3, default=NO_PRODUCER_ID)  # both or none of the two: else error 42
    producer_epoch: Int16 = wire(since=3, default=NO_PRODUCER_EPOCH)


@struct
class InitProducerIdResponse:
    """The id and the epoch to put into batches."""

    throttle_time_ms: Int32
    error_code: Int16
    producer_id: Int64 = wire(default=NO_PRODUCER_ID)
    producer_epoch: Int16


INIT_PRODUCER_ID = Api(
    key=22,
    versions=Versions(0, 5),
    flexible=2,
    request=InitProducerIdRequest,
    response=InitProducerIdResponse,
)
