"""OffsetFetch, byte by byte."""

import pytest

from kafka_lagoon.errors import EncodeError
from kafka_lagoon.protocol.messages.offset_fetch import (
    OffsetFetchGroup,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchTopic,
)
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode

REQUEST = OffsetFetchRequest(group_id="g", topics=None)
MANY = OffsetFetchRequest(groups=(OffsetFetchGroup(group_id="g", topics=None), OffsetFetchGroup(group_id="h")))


def test_one_group_or_many() -> None:
    """One group up to v7, many from v8 on, and neither in place of the other (KIP-709)."""
    assert encode(REQUEST, 7, True).hex(" ") == "02 67 00 00 00"
    assert encode(MANY, 8, True).hex(" ") == "03 02 67 00 00 02 68 01 00 00 00"
    for request, version in ((REQUEST, 8), (MANY, 7)):
        with pytest.raises(EncodeError):
            encode(request, version, flexible=True)


def test_all_topics() -> None:
    """Null means all topics, from v2 on."""
    assert encode(REQUEST, 2, False).hex(" ") == "00 01 67 ff ff ff ff"
    with pytest.raises(EncodeError):
        encode(REQUEST, 1, False)


def test_names_give_way_to_ids() -> None:
    """v9 names topics, v10 has their ids; a topic that carries both can be sent in either."""
    topic = OffsetFetchTopic(name="a", topic_id=b"\x0f" * 16, partition_indexes=(1,))
    request = OffsetFetchRequest(groups=(OffsetFetchGroup(group_id="g", topics=(topic,)),))
    assert encode(request, 9, True).hex() == "02 0267 00 ffffffff 02 0261 02 00000001 00 00 00 00".replace(" ", "")
    expected = "02 0267 00 ffffffff 02" + "0f" * 16 + "02 00000001 00 00 00 00"
    assert encode(request, 10, True) == bytes.fromhex(expected)


def test_what_old_answers_lack() -> None:
    """A commit without a leader epoch has -1, not 0, which is a valid epoch."""
    spelled = "00000001 0001 61 00000001 00000000 0000000000000005 0000 0000 0000"
    decoded = decode(OffsetFetchResponse, 2, False, bytes.fromhex(spelled))
    (item,) = decoded.topics[0].partitions
    assert (item.committed_offset, item.committed_leader_epoch, item.metadata) == (5, -1, "")
