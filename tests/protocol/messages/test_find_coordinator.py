"""FindCoordinator, byte by byte."""

import pytest

from kafka_lagoon.errors import EncodeError
from kafka_lagoon.protocol.messages.find_coordinator import TRANSACTION, FindCoordinatorRequest, FindCoordinatorResponse
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode

REQUEST = FindCoordinatorRequest(key="g")
MANY = FindCoordinatorRequest(coordinator_keys=("g", "h"))


def test_one_key_or_many() -> None:
    """One key up to v3, many from v4 on, and neither in place of the other (KIP-699)."""
    assert encode(REQUEST, 0, False).hex(" ") == "00 01 67"
    assert encode(MANY, 4, True).hex(" ") == "00 03 02 67 02 68 00"
    for request, version in ((REQUEST, 4), (MANY, 3)):
        with pytest.raises(EncodeError):
            encode(request, version, flexible=True)


def test_groups_only() -> None:
    """v0 knows only groups."""
    with pytest.raises(EncodeError):
        encode(FindCoordinatorRequest(key="t", key_type=TRANSACTION), 0, False)


def test_answer_for_many() -> None:
    """From v4 on errors are in the entries, and the fields of a single response are gone."""
    spelled = "00000000 02 0267 00000001 0268 00002384 0000 00 00 00"
    decoded = decode(FindCoordinatorResponse, 4, True, bytes.fromhex(spelled))
    (item,) = decoded.coordinators
    assert (item.key, item.node_id, item.host, item.port, item.error_code, item.error_message) == (
        "g",
        1,
        "h",
        9092,
        0,
        None,
    )
    assert (decoded.node_id, decoded.host) == (0, "")
