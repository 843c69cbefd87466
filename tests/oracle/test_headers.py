"""Our frames against Kafka's own parsing of headers."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

from kafka_lagoon.protocol.apis import APIS
from kafka_lagoon.protocol.headers import encode_request
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS
from kafka_lagoon.wire.schema import Api
from kafka_lagoon.wire.writing import encode
from tests.oracle.jars import clients_jar
from tests.oracle.java_codec import JavaCodec
from tests.oracle.schemas import knows, load, stable_versions

pytestmark = pytest.mark.java

CLIENT_IDS = ("me", "", None, "ü\U0001f600", "x" * 300)

each_api = pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)


def _common(codec: JavaCodec, api: Api[Any, Any]) -> list[int]:
    """Return the versions that the release knows, too."""
    name, jar = api.request.__name__, clients_jar(codec.kafka)
    return [version for version in api.versions if knows(jar, name) and version in stable_versions(load(jar, name))]


@each_api
def test_header_versions(codecs: Sequence[JavaCodec], api: Api[Any, Any]) -> None:
    """Flexible requests have header 2, their responses header 1, all others 1 and 0; ApiVersions is answered with 0."""
    for codec in codecs:
        types = codec.jvm.org.apache.kafka.common.message.ApiMessageType
        for version in _common(codec, api):
            type_ = types.fromApiKey(api.key)
            flexible = api.is_flexible(version)
            assert type_.requestHeaderVersion(version) == 1 + flexible
            assert type_.responseHeaderVersion(version) == (flexible and api is not API_VERSIONS)


@each_api
def test_request_headers(codecs: Sequence[JavaCodec], api: Api[Any, Any]) -> None:
    """Kafka finds key, version, correlation id, client id and body in our frames."""
    for codec in codecs:
        requests = list(product(_common(codec, api), CLIENT_IDS))
        frames = [encode_request(api, version, 2**31 - 1, client_id, api.request()) for version, client_id in requests]
        read = codec.request_headers(frame[4:] for frame in frames)
        for (version, client_id), frame, (*fields, position) in zip(requests, frames, read, strict=True):
            assert fields == [api.key, version, 2**31 - 1, client_id or ""]  # Kafka takes no name for an empty one
            assert frame[4 + position :] == encode(api.request(), version, api.is_flexible(version))
            assert int.from_bytes(frame[:4], "big") == len(frame) - 4
