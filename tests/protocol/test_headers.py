"""Headers and whole frames."""

from functools import partial

import pytest

from kafka_lagoon.errors import DecodeError, EncodeError
from kafka_lagoon.protocol.headers import decode_response, decode_response_header, encode_request
from kafka_lagoon.protocol.messages.api_versions import (
    API_VERSIONS,
    ApiVersionsRequest,
    ApiVersionsResponse,
    OfferedApi,
)
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS, ListGroupsRequest, ListGroupsResponse
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataRequest
from kafka_lagoon.wire.writing import encode
from tests.examples import CASES, Case, any_message, each_case, randoms


def _spelled(frame: bytes, expected: str) -> bool:
    return frame == bytes.fromhex(expected)


def test_classic_request() -> None:
    """Header v1 has API key, version, correlation id and client id; the length prefix counts all bytes after it."""
    frame = encode_request(LIST_GROUPS, 0, 7, "me", ListGroupsRequest())
    assert _spelled(frame, "0000000c 0010 0000 00000007 0002 6d65")


def test_flexible_request() -> None:
    """Header v2 ends with a tag section, and its client id is still classic."""
    frame = encode_request(LIST_GROUPS, 3, 7, "me", ListGroupsRequest())
    assert _spelled(frame, "0000000e 0010 0003 00000007 0002 6d65 00 00")


def test_no_client_id() -> None:
    """A client without a name sends null, which has two bytes in both versions of the header."""
    assert _spelled(encode_request(LIST_GROUPS, 0, 7, None, ListGroupsRequest()), "0000000a 0010 0000 00000007 ffff")
    frame = encode_request(LIST_GROUPS, 3, 7, None, ListGroupsRequest())
    assert _spelled(frame, "0000000c 0010 0003 00000007 ffff 00 00")


def test_request_that_the_version_cannot_carry() -> None:
    """No part of a request is sent if its version cannot carry it."""
    with pytest.raises(EncodeError):
        encode_request(METADATA, 0, 7, "me", MetadataRequest(topics=None))


def test_response_headers() -> None:
    """Classic responses have header v0, flexible ones header v1 with a tag section."""
    assert decode_response_header(LIST_GROUPS, 0, bytes.fromhex("00000007")) == (7, 4)
    assert decode_response_header(LIST_GROUPS, 3, bytes.fromhex("00000007 00")) == (7, 5)


def test_unknown_tags_in_the_response_header() -> None:
    """Fields that a newer broker adds to the header are skipped."""
    frame = bytes.fromhex("00000007 01 8001 03 aabbcc 00000000 0000 01 00")
    assert decode_response_header(LIST_GROUPS, 3, frame) == (7, 11)
    assert decode_response(LIST_GROUPS, 3, frame) == ListGroupsResponse()


@pytest.mark.parametrize("version", list(API_VERSIONS.versions))
def test_response_header_of_api_versions(version: int) -> None:
    """Every version of ApiVersions is answered with header v0, flexible ones too (KIP-511)."""
    response = ApiVersionsResponse(api_keys=(OfferedApi(api_key=18, min_version=0, max_version=4),))
    body = encode(response, version, API_VERSIONS.is_flexible(version))
    frame = b"\0\0\0\x07" + body
    assert decode_response_header(API_VERSIONS, version, frame) == (7, 4)
    assert decode_response(API_VERSIONS, version, frame) == response


def test_flexible_api_versions_request() -> None:
    """A flexible ApiVersions request has header v2, like other requests."""
    request = ApiVersionsRequest(client_software_name="a", client_software_version="b")
    frame = encode_request(API_VERSIONS, 3, 7, "me", request)
    assert _spelled(frame, "00000012 0012 0003 00000007 0002 6d65 00 0261 0262 00")


def test_the_correlation_id_comes_first() -> None:
    """The correlation id can be read from a frame whose body is not a response."""
    garbage = b"\0\0\0\x07\0" + b"\xff" * 9
    assert decode_response_header(LIST_GROUPS, 3, garbage)[0] == 7
    with pytest.raises(DecodeError):
        decode_response(LIST_GROUPS, 3, garbage)


@pytest.mark.parametrize("frame", [b"", b"\0\0\0", b"\0\0\0\x07", b"\0\0\0\x07\x01", b"\0\0\0\x07\x01\x05\x05"])
def test_broken_response_headers(frame: bytes) -> None:
    """A frame that ends inside its header is a DecodeError."""
    with pytest.raises(DecodeError):
        decode_response_header(LIST_GROUPS, 3, frame)


@partial(each_case, cases=[case for case in CASES if case.cls is case.api.response])
@pytest.mark.examples
def test_every_response(case: Case) -> None:
    """A response after a header is decoded as it was encoded, in every version."""
    for random in randoms(case, 3):
        response, correlation_id = any_message(random, case.cls, case.version), random.getrandbits(31)
        section = b"\0" if case.flexible and case.api is not API_VERSIONS else b""
        frame = correlation_id.to_bytes(4, "big") + section + encode(response, case.version, case.flexible)
        assert decode_response_header(case.api, case.version, frame)[0] == correlation_id
        assert decode_response(case.api, case.version, frame) == response
