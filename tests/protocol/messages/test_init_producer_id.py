"""InitProducerId, byte by byte."""

import pytest

from kafka_lagoon.errors import EncodeError
from kafka_lagoon.protocol.messages.init_producer_id import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafka_lagoon.wire.writing import encode


def test_id_to_go_on_with() -> None:
    """From v3 on a producer sends its current id, or -1; older versions refuse it (KIP-360)."""
    idempotent = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
    assert encode(idempotent, 2, True) == bytes.fromhex("00 0000ea60 00")
    assert encode(idempotent, 3, True) == bytes.fromhex("00 0000ea60 ffffffffffffffff ffff 00")
    with pytest.raises(EncodeError):
        encode(InitProducerIdRequest(producer_id=9, producer_epoch=1), 2, True)


def test_no_id() -> None:
    """A missing id is -1 in requests and responses, since 0 is a valid id."""
    assert (InitProducerIdRequest().producer_id, InitProducerIdRequest().producer_epoch) == (
        NO_PRODUCER_ID,
        NO_PRODUCER_EPOCH,
    )
    assert InitProducerIdResponse().producer_id == NO_PRODUCER_ID
