"""The protocol of a connection without a socket: responses and their requests, and the choice of versions."""

from typing import Any

import pytest

from kafka_lagoon.client.connection import (
    HANDSHAKE_MAX_BYTES,
    PLAIN_MAX_BYTES,
    Connection,
    ReceivedResponse,
    choose_version,
    negotiate,
)
from kafka_lagoon.errors import CorrelationMismatch, DecodeError, FrameTooLarge, UnsupportedVersion
from kafka_lagoon.protocol.error_codes import UNSUPPORTED_VERSION
from kafka_lagoon.protocol.headers import ResponseHeader
from kafka_lagoon.protocol.messages.api_versions import (
    API_VERSIONS,
    ApiVersionsRequest,
    ApiVersionsResponse,
    OfferedApi,
)
from kafka_lagoon.protocol.messages.init_producer_id import INIT_PRODUCER_ID
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS, ListedGroup, ListGroupsRequest, ListGroupsResponse
from kafka_lagoon.protocol.messages.sasl_authenticate import SASL_AUTHENTICATE
from kafka_lagoon.protocol.messages.sasl_handshake import SASL_HANDSHAKE
from kafka_lagoon.wire.schema import Api, Versions
from kafka_lagoon.wire.writing import encode

VERSION = 4


def connection() -> Connection:
    """A connection with small limits."""
    return Connection("test", 1_000)


def response(correlation_id: int, group_id: str) -> bytes:
    """The frame of a ListGroups response with one group."""
    header = encode(ResponseHeader(correlation_id=correlation_id), 0, True)
    body = encode(ListGroupsResponse(groups=(ListedGroup(group_id=group_id),)), VERSION, True)
    return (len(header) + len(body)).to_bytes(4, "big") + header + body


def received(peer: Connection, data: bytes) -> list[ReceivedResponse]:
    """Return the responses that these bytes complete."""
    with peer.room() as room:
        room[: len(data)] = data
    return list(peer.filled(len(data)))


def groups(answers: list[ReceivedResponse]) -> list[str]:
    """Return the groups in ListGroups responses."""
    return [group.group_id for answer in answers for group in answer.message.groups]


def test_responses_come_in_the_order_of_requests() -> None:
    """Each request has the next correlation id; bytes may arrive in any pieces, and a complete response is returned at once."""
    peer = connection()
    frames = [peer.frame(LIST_GROUPS, VERSION, ListGroupsRequest()) for _ in range(3)]
    assert [int.from_bytes(frame[8:12], "big") for frame in frames] == [0, 1, 2]
    data = b"".join(response(number, f"group-{number}") for number in range(3))
    first, rest = received(peer, data[:30]), received(peer, data[30:])
    assert groups(first) + groups(rest) == ["group-0", "group-1", "group-2"]
    assert peer.in_flight == 0


def test_a_response_to_another_request_is_refused() -> None:
    """A late response is detected before it is decoded, so it is never taken for a later one."""
    peer = connection()
    peer.frame(LIST_GROUPS, VERSION, ListGroupsRequest())
    with pytest.raises(CorrelationMismatch) as mismatch:
        received(peer, response(7, "late"))
    assert (mismatch.value.expected, mismatch.value.got) == (0, 7)


def test_a_response_that_nothing_waits_for_is_refused() -> None:
    """A response without a request is an error, also after a request that has no response."""
    peer = connection()
    peer.unanswered_frame(LIST_GROUPS, VERSION, ListGroupsRequest())
    assert peer.in_flight == 0
    with pytest.raises(CorrelationMismatch):
        received(peer, response(0, "unexpected"))


def test_correlation_ids_stay_positive() -> None:
    """After the largest int32 the correlation id is 0."""
    peer = connection()
    peer._next_id = 0x7FFFFFFF
    frames = [peer.frame(LIST_GROUPS, VERSION, ListGroupsRequest()) for _ in range(2)]
    assert [int.from_bytes(frame[8:12], "big") for frame in frames] == [0x7FFFFFFF, 0]
    assert groups(received(peer, response(0x7FFFFFFF, "a") + response(0, "b"))) == ["a", "b"]


def test_responses_beyond_the_limit_and_damaged_ones_are_refused() -> None:
    """Other protocols are detected by their length, or by their content."""
    peer = connection()
    peer.frame(LIST_GROUPS, VERSION, ListGroupsRequest())
    received(peer, (1_001).to_bytes(4, "big")[:3])
    with pytest.raises(FrameTooLarge):
        received(peer, (1_001).to_bytes(4, "big")[3:])
    peer = connection()
    peer.frame(LIST_GROUPS, VERSION, ListGroupsRequest())
    frame = response(0, "group")
    with pytest.raises(DecodeError):
        received(peer, (len(frame) - 5).to_bytes(4, "big") + frame[4:-1])


@pytest.mark.parametrize("own", [2, 3, None])
def test_the_handshake_with_a_broker_that_knows_less(own: int | None) -> None:
    """The broker returns its highest version of ApiVersions, which is sent next; else version 0 is sent (KIP-511)."""
    handshake = negotiate()
    version, request = next(handshake)
    assert (version, type(request)) == (API_VERSIONS.versions.highest, ApiVersionsRequest)
    keys = () if own is None else (OfferedApi(api_key=API_VERSIONS.key, min_version=0, max_version=own),)
    assert handshake.send(ApiVersionsResponse(error_code=UNSUPPORTED_VERSION, api_keys=keys))[0] == (own or 0)
    final = ApiVersionsResponse(api_keys=(OfferedApi(api_key=3, min_version=0, max_version=9),))
    with pytest.raises(StopIteration) as end:
        handshake.send(final)
    assert end.value.value is final


def test_a_refused_version_of_api_versions_is_read_as_version_0() -> None:
    """This holds for every sent version, and also if the list cannot be read."""
    keys = (OfferedApi(api_key=API_VERSIONS.key, min_version=0, max_version=2),)
    for body in (
        encode(ApiVersionsResponse(error_code=UNSUPPORTED_VERSION, api_keys=keys), 0, False),
        UNSUPPORTED_VERSION.to_bytes(2, "big") + b"\x00\x00\x00\x09garbage",
    ):
        peer = connection()
        peer.frame(API_VERSIONS, 4, ApiVersionsRequest())
        (answer,) = received(peer, (4 + len(body)).to_bytes(4, "big") + bytes(4) + body)
        assert answer.message.error_code == UNSUPPORTED_VERSION
        assert answer.message.api_keys in (keys, ())


@pytest.mark.parametrize(
    ("offered", "within", "expected"),
    [
        (Versions(0, 99), None, LIST_GROUPS.versions.highest),
        (Versions(0, 3), None, 3),
        (Versions(0, 99), Versions(1, 2), 2),
        (Versions(2, 99), Versions(0, 1), None),
        (None, None, None),
    ],
)
def test_the_version_is_the_highest_that_all_allow(
    offered: Versions | None, within: Versions | None, expected: int | None
) -> None:
    """Ours, the broker's and the caller's bounds."""
    ranges = {LIST_GROUPS.key: offered} if offered else {}
    if expected is None:
        with pytest.raises(UnsupportedVersion, match="broker 7"):
            choose_version(LIST_GROUPS, ranges, "broker 7", within)
    else:
        assert choose_version(LIST_GROUPS, ranges, "broker 7", within) == expected


@pytest.mark.parametrize(
    ("api", "version", "limit"),
    [
        (API_VERSIONS, 4, HANDSHAKE_MAX_BYTES),
        (SASL_HANDSHAKE, 1, HANDSHAKE_MAX_BYTES),
        (SASL_AUTHENTICATE, 2, HANDSHAKE_MAX_BYTES),
        (INIT_PRODUCER_ID, 5, PLAIN_MAX_BYTES),
        (LIST_GROUPS, 5, 100 << 20),
    ],
)
def test_each_api_has_a_largest_response(api: Api[Any, Any], version: int, limit: int) -> None:
    """Responses must be small before authentication and for APIs without lists; larger ones are refused without allocation."""
    peers = [Connection("test", 100 << 20) for _ in range(2)]
    for peer in peers:
        peer.frame(api, version, api.request())
    assert received(peers[0], limit.to_bytes(4, "big")) == []
    assert len(peers[0].room()) <= 1 << 18
    with pytest.raises(FrameTooLarge, match=f"frames from 0 to {limit} bytes are read"):
        received(peers[1], (limit + 1).to_bytes(4, "big"))


def test_a_second_response_has_its_own_limit() -> None:
    """The limit holds also if both responses arrive together."""
    peer = Connection("test", 100 << 20)
    for api, version in ((LIST_GROUPS, VERSION), (API_VERSIONS, 4)):
        peer.frame(api, version, api.request())
    with pytest.raises(FrameTooLarge):
        received(peer, response(0, "a") + (HANDSHAKE_MAX_BYTES + 1).to_bytes(4, "big"))
