"""Makes requests for metadata, which create no topics."""

from collections.abc import Collection

from kafka_lagoon.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_lagoon.wire.schema import LATEST, Versions

CREATES_NOTHING = Versions(4, LATEST)  # before Kafka 0.11 a request for a topic may create it


def metadata_request(topics: Collection[str] | None) -> MetadataRequest:
    """The request about the brokers and some topics (None: all); in a version of CREATES_NOTHING it creates no topic."""
    requested = None if topics is None else tuple(MetadataRequestTopic(name=name) for name in sorted(topics))
    return MetadataRequest(topics=requested, allow_auto_topic_creation=False)
