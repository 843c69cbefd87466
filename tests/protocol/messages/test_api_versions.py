"""ApiVersions, byte by byte."""

from kafka_lagoon.protocol.messages.api_versions import (
    UNKNOWN_EPOCH,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeature,
    OfferedApi,
    SupportedFeature,
)
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode


def test_refusal_of_a_newer_version() -> None:
    """A broker that does not know our version says so in v0, with its own range as the only entry (KIP-511)."""
    refusal = decode(ApiVersionsResponse, 0, False, bytes.fromhex("0023 00000001 0012 0000 0004"))
    own = OfferedApi(api_key=18, min_version=0, max_version=4)
    assert refusal == ApiVersionsResponse(error_code=35, api_keys=(own,))


def test_software_is_left_out_of_old_requests() -> None:
    """The names of our software are ignorable: the same request can be sent in every version."""
    request = ApiVersionsRequest(client_software_name="a", client_software_version="1")
    assert [encode(request, version, False) for version in range(3)] == [b""] * 3
    assert encode(request, 3, True).hex(" ") == "02 61 02 31 00"


def test_features() -> None:
    """Features are tagged fields; finalized levels are invalid without an epoch."""
    tags = "03  00 08 02 02 61 0001 0002 00  01 08 0000000000000007  02 08 02 02 61 0002 0001 00"
    decoded = decode(ApiVersionsResponse, 3, True, bytes.fromhex("0000 01 00000000 " + tags))
    assert decoded.supported_features == (SupportedFeature(name="a", min_version=1, max_version=2),)
    assert decoded.finalized_features == (FinalizedFeature(name="a", max_version_level=2, min_version_level=1),)
    assert decoded.finalized_features_epoch == 7
    assert ApiVersionsResponse().finalized_features_epoch == UNKNOWN_EPOCH
