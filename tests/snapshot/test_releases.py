"""Releases from what brokers speak."""

import pytest

from pipeline.protocol.messages.api_versions import ApiVersionsResponse, OfferedApi, SupportedFeature
from pipeline.snapshot.releases import kafka_version_range


def kraft(level: int) -> ApiVersionsResponse:
    feature = SupportedFeature(name="metadata.version", min_version=7, max_version=level)
    return ApiVersionsResponse(error_code=0, api_keys=(), supported_features=(feature,))


def zookeeper(list_offsets: int) -> ApiVersionsResponse:
    return ApiVersionsResponse(error_code=0, api_keys=(OfferedApi(api_key=2, min_version=0, max_version=list_offsets),))


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([], None),
        ([kraft(21)], "3.9"),
        ([kraft(30), kraft(21), kraft(25)], "3.9 - 4.3"),
        ([kraft(99)], "4.3+"),
        ([zookeeper(6), kraft(21)], "2.8 - 3.9"),
        ([zookeeper(2)], "0.11"),
        ([ApiVersionsResponse(error_code=0, api_keys=())], None),
    ],
)
def test_range(told: list[ApiVersionsResponse], expected: str | None) -> None:
    """Oldest and newest; a plus where a broker is newer than all we know; None where nothing is known."""
    assert kafka_version_range(told) == expected
